// From nodes to graphs: sum, mean or maximum of each graph's rows.
//
// The nodes of a graph are neighbours in memory, so no list of ids is read: a
// graph is a run of rows. One thread sums one graph, in the order of its nodes,
// and the gradient writes each node's row once.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <string_view>

#include "src/core/name_table.h"
#include "src/network/pooling.h"
#include "src/network/row_ops.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {
namespace {

// The rows of one graph.
struct GraphRows {
  std::int64_t index = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

template <typename Function>
void ForEachGraph(const at::Tensor& graph_begin, Function function) {
  const auto* begin = graph_begin.const_data_ptr<std::int32_t>();
  at::parallel_for(0, graph_begin.size(0) - 1, 1,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t g = first; g < last; ++g) {
                       function(GraphRows{g, begin[g], begin[g + 1]});
                     }
                   });
}

template <typename T>
T RowsScale(const GraphRows& graph, Pooling pooling) {
  return pooling == Pooling::kMean
             ? T(1) / static_cast<T>(graph.last - graph.first)
             : T(1);
}

template <typename T>
void AddUp(const at::Tensor& x, const at::Tensor& graph_begin, Pooling pooling,
           const at::Tensor& out) {
  const std::int64_t width = x.size(1);
  const T* rows = x.const_data_ptr<T>();
  T* pooled = out.mutable_data_ptr<T>();
  ForEachGraph(graph_begin, [=](const GraphRows& graph) {
    T* total = pooled + graph.index * width;
    FillRow(total, T(0), width);
    for (std::int64_t i = graph.first; i < graph.last; ++i) {
      AddScaledRow(total, rows + i * width, T(1), width);
    }
    ScaleRow(total, total, RowsScale<T>(graph, pooling), width);
  });
}

template <typename T>
void SpreadSum(const at::Tensor& gradient, const at::Tensor& graph_begin,
               Pooling pooling, const at::Tensor& out) {
  const std::int64_t width = out.size(1);
  const T* pooled = gradient.const_data_ptr<T>();
  T* rows = out.mutable_data_ptr<T>();
  ForEachGraph(graph_begin, [=](const GraphRows& graph) {
    for (std::int64_t i = graph.first; i < graph.last; ++i) {
      ScaleRow(rows + i * width, pooled + graph.index * width,
               RowsScale<T>(graph, pooling), width);
    }
  });
}

// The maximum and the row it is in; the first such row.
template <typename T>
void TakeLargest(const at::Tensor& x, const at::Tensor& graph_begin,
                 const at::Tensor& out, const at::Tensor& argmax) {
  const std::int64_t width = x.size(1);
  const T* rows = x.const_data_ptr<T>();
  T* pooled = out.mutable_data_ptr<T>();
  auto* places = argmax.mutable_data_ptr<std::int32_t>();
  ForEachGraph(graph_begin, [=](const GraphRows& graph) {
    T* largest = pooled + graph.index * width;
    std::int32_t* place = places + graph.index * width;
    ScaleRow(largest, rows + graph.first * width, T(1), width);
    std::fill_n(place, width, static_cast<std::int32_t>(graph.first));
    for (std::int64_t i = graph.first + 1; i < graph.last; ++i) {
      const T* row = rows + i * width;
      for (std::int64_t c = 0; c < width; ++c) {
        const bool larger = row[c] > largest[c];
        largest[c] = larger ? row[c] : largest[c];
        place[c] = larger ? static_cast<std::int32_t>(i) : place[c];
      }
    }
  });
}

template <typename T>
void PutBack(const at::Tensor& gradient, const at::Tensor& graph_begin,
             const at::Tensor& argmax, const at::Tensor& out) {
  const std::int64_t width = out.size(1);
  const T* pooled = gradient.const_data_ptr<T>();
  const auto* places = argmax.const_data_ptr<std::int32_t>();
  T* rows = out.mutable_data_ptr<T>();
  ForEachGraph(graph_begin, [=](const GraphRows& graph) {
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t k = graph.index * width + c;
      rows[places[k] * width + c] = pooled[k];
    }
  });
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sum and mean.
class PoolSum : public torch::autograd::Function<PoolSum> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& graph_begin, Pooling pooling) {
    context->saved_data["begin"] = graph_begin;
    context->saved_data["mean"] = pooling == Pooling::kMean;
    context->saved_data["rows"] = x.size(0);
    at::Tensor out =
        at::empty({graph_begin.size(0) - 1, x.size(1)}, x.options());
    x.scalar_type() == at::kFloat ? AddUp<float>(x, graph_begin, pooling, out)
                                  : AddUp<double>(x, graph_begin, pooling, out);
    return out;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    auto& saved = context->saved_data;
    const at::Tensor begin = saved["begin"].toTensor();
    const Pooling pooling =
        saved["mean"].toBool() ? Pooling::kMean : Pooling::kSum;
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty({saved["rows"].toInt(), gradient.size(1)},
                               gradient.options());
    gradient.scalar_type() == at::kFloat
        ? SpreadSum<float>(gradient, begin, pooling, out)
        : SpreadSum<double>(gradient, begin, pooling, out);
    return {out, at::Tensor(), at::Tensor()};
  }
};

class PoolMax : public torch::autograd::Function<PoolMax> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& graph_begin) {
    const std::int64_t graphs = graph_begin.size(0) - 1;
    at::Tensor out = at::empty({graphs, x.size(1)}, x.options());
    const at::Tensor argmax =
        at::empty({graphs, x.size(1)}, x.options().dtype(at::kInt));
    x.scalar_type() == at::kFloat
        ? TakeLargest<float>(x, graph_begin, out, argmax)
        : TakeLargest<double>(x, graph_begin, out, argmax);
    context->saved_data["begin"] = graph_begin;
    context->saved_data["argmax"] = argmax;
    context->saved_data["rows"] = x.size(0);
    return out;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    auto& saved = context->saved_data;
    const at::Tensor begin = saved["begin"].toTensor();
    const at::Tensor argmax = saved["argmax"].toTensor();
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::zeros({saved["rows"].toInt(), gradient.size(1)},
                               gradient.options());
    gradient.scalar_type() == at::kFloat
        ? PutBack<float>(gradient, begin, argmax, out)
        : PutBack<double>(gradient, begin, argmax, out);
    return {out, at::Tensor()};
  }
};

// The first three are ATen's names, too.
constexpr NameTable<4> kPoolingNames = {"sum", "mean", "max", "prior"};

}  // namespace

std::string_view PoolingName(Pooling pooling) {
  return NameIn(kPoolingNames, pooling);
}

std::optional<Pooling> ParsePooling(std::string_view name) {
  return FindIn<Pooling>(kPoolingNames, name);
}

at::Tensor PoolGraphs(const at::Tensor& x, const at::Tensor& graph_begin,
                      Pooling pooling) {
  const at::Tensor rows = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  if (!x.is_cpu()) {
    const at::Tensor lengths =
        (graph_begin.slice(0, 1) - graph_begin.slice(0, 0, -1)).to(at::kLong);
    return at::segment_reduce(rows, PoolingName(pooling), lengths,
                              /*indices=*/{}, /*offsets=*/{}, /*axis=*/0,
                              /*unsafe=*/true);
  }
  if (pooling == Pooling::kMax) {
    return PoolMax::apply(rows.contiguous(), graph_begin);
  }
  return PoolSum::apply(rows.contiguous(), graph_begin, pooling);
}

}  // namespace foretell::learned
