// Softmax over the producers of a node, weights times rows, and its gradient.
//
// Nothing per edge is stored. The forward pass keeps, for every node, its
// largest score m_i and the sum of the others relative to it, r_i; from them
// and the two scores of an edge's ends the weight is one exponential:
//
//     w_ij = exp(leaky(t_i + s_j) - m_i) / r_i
//
// (one logarithm m_i + log r_i would do, but loses digits where m_i is large),
// so the gradient recomputes it, once by consumer and once by producer. With
// g = d loss / d out, and c_i = g_i · out_i,
//
//     de_ij = w_ij (g_i · z_j - c_i) · leaky'(t_i + s_j)
//     dt_i = Σ_j de_ij,   ds_j = Σ_i de_ij,   dz_j = Σ_i w_ij g_i.
//
// The first sum runs over the incoming rows, the other two over the outgoing
// ones, so each output is written by one thread. On other devices than the CPU
// the same is done with ATen's operators on an edge list.

#include "src/network/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "src/network/row_ops.h"

namespace foretell::learned {
namespace {

constexpr double kNegativeSlope = 0.2;
constexpr std::int64_t kRowsPerTask = 32;

template <typename T>
T Leaky(T e) {
  return e > 0 ? e : static_cast<T>(kNegativeSlope) * e;
}

template <typename T>
T LeakySlope(T e) {
  return e > 0 ? T(1) : static_cast<T>(kNegativeSlope);
}

template <typename T>
T Dot(const T* a, const T* b, std::int64_t size) {
  T total = 0;
  for (std::int64_t c = 0; c < size; ++c) total += a[c] * b[c];
  return total;
}

// Node i itself, then those of its list.
template <typename Function>
void ForEachWithSelf(const std::int32_t* begin, const std::int32_t* neighbour,
                     std::int64_t i, Function function) {
  function(i);
  for (std::int64_t k = begin[i]; k < begin[i + 1]; ++k) function(neighbour[k]);
}

// The scores of nodes and, once the forward pass has written them, the parts
// of every softmax.
template <typename T>
struct Scores {
  /// `softmax` is [2, num_nodes]: m and r above.
  Scores(const at::Tensor& source_scores, const at::Tensor& target_scores,
         const at::Tensor& softmax)
      : source(source_scores.const_data_ptr<T>()),
        target(target_scores.const_data_ptr<T>()),
        largest(softmax.mutable_data_ptr<T>()),
        relative_sum(largest + softmax.size(1)) {}

  const T* source;
  const T* target;
  T* largest;
  T* relative_sum;

  T Edge(std::int64_t j, std::int64_t i) const { return target[i] + source[j]; }
  T Weight(std::int64_t j, std::int64_t i) const {
    return std::exp(Leaky(Edge(j, i)) - largest[i]) / relative_sum[i];
  }
};

struct ListPointers {
  explicit ListPointers(const NeighbourLists& lists)
      : begin(lists.begin.const_data_ptr<std::int32_t>()),
        neighbour(lists.neighbour.const_data_ptr<std::int32_t>()) {}
  const std::int32_t* begin;
  const std::int32_t* neighbour;
};

// Everything that the rows of the output share.
template <typename T>
struct Forward {
  Scores<T> scores;
  const T* z = nullptr;
  std::int64_t width = 0;

  // Writes row i of the output, and what its softmax came to.
  void Row(const ListPointers& incoming, std::int64_t i, T* out) const {
    T largest = Leaky(scores.Edge(i, i));
    ForEachWithSelf(incoming.begin, incoming.neighbour, i, [&](std::int64_t j) {
      largest = std::max(largest, Leaky(scores.Edge(j, i)));
    });
    T total = 0;
    ForEachWithSelf(incoming.begin, incoming.neighbour, i, [&](std::int64_t j) {
      total += std::exp(Leaky(scores.Edge(j, i)) - largest);
    });
    scores.largest[i] = largest;
    scores.relative_sum[i] = total;
    T* row = out + i * width;
    FillRow(row, T(0), width);
    ForEachWithSelf(incoming.begin, incoming.neighbour, i, [&](std::int64_t j) {
      AddScaledRow(row, z + j * width, scores.Weight(j, i), width);
    });
  }
};

// Everything that the two gradient passes share.
template <typename T>
struct Backward {
  Scores<T> scores;
  const T* z = nullptr;
  const T* gradient = nullptr;
  const T* out_dot = nullptr;  // c_i above.
  std::int64_t width = 0;

  T EdgeGradient(std::int64_t j, std::int64_t i) const {
    const T along = Dot(gradient + i * width, z + j * width, width);
    return scores.Weight(j, i) * (along - out_dot[i]) *
           LeakySlope(scores.Edge(j, i));
  }

  T TargetGradient(const ListPointers& incoming, std::int64_t i) const {
    T total = 0;
    ForEachWithSelf(incoming.begin, incoming.neighbour, i,
                    [&](std::int64_t j) { total += EdgeGradient(j, i); });
    return total;
  }

  // Writes row j of the gradient of z; returns that of source_j.
  T SourceGradient(const ListPointers& outgoing, std::int64_t j, T* dz) const {
    T total = 0;
    T* row = dz + j * width;
    FillRow(row, T(0), width);
    ForEachWithSelf(outgoing.begin, outgoing.neighbour, j, [&](std::int64_t i) {
      total += EdgeGradient(j, i);
      AddScaledRow(row, gradient + i * width, scores.Weight(j, i), width);
    });
    return total;
  }
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename T>
class AttendFunction : public torch::autograd::Function<AttendFunction<T>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& z,
                            const at::Tensor& source, const at::Tensor& target,
                            const Aggregation& edges) {
    at::Tensor out = at::empty_like(z);
    const at::Tensor softmax = at::empty({2, z.size(0)}, z.options());
    const Forward<T> pass{Scores<T>(source, target, softmax),
                          z.const_data_ptr<T>(), z.size(1)};
    T* rows = out.mutable_data_ptr<T>();
    at::parallel_for(0, z.size(0), kRowsPerTask,
                     [&, lists = ListPointers(edges.incoming)](
                         std::int64_t first, std::int64_t last) {
                       for (std::int64_t i = first; i < last; ++i) {
                         pass.Row(lists, i, rows);
                       }
                     });
    context->save_for_backward({z, source, target, out});
    context->saved_data["softmax"] = softmax;
    const auto save = [context](const char* name, const NeighbourLists& lists) {
      context->saved_data[name] =
          c10::List<at::Tensor>({lists.begin, lists.neighbour});
    };
    save("incoming", edges.incoming);
    save("outgoing", edges.outgoing);
    return out;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor out_dot = (gradient * saved[3]).sum(1);
    const Backward<T> pass{Scores<T>(saved[1], saved[2],
                                     context->saved_data["softmax"].toTensor()),
                           saved[0].template const_data_ptr<T>(),
                           gradient.const_data_ptr<T>(),
                           out_dot.const_data_ptr<T>(), gradient.size(1)};
    const auto lists = [context](const char* name) {
      const auto pair = context->saved_data[name].toTensorList();
      return NeighbourLists{pair[0], pair[1]};
    };
    return RunBackward(pass, saved[0], saved[1], lists("incoming"),
                       lists("outgoing"));
  }

 private:
  static variable_list RunBackward(const Backward<T>& pass, const at::Tensor& z,
                                   const at::Tensor& source,
                                   const NeighbourLists& incoming,
                                   const NeighbourLists& outgoing) {
    at::Tensor dz = at::empty_like(z);
    at::Tensor dsource = at::empty_like(source);
    at::Tensor dtarget = at::empty_like(source);
    T* z_out = dz.mutable_data_ptr<T>();
    T* source_out = dsource.mutable_data_ptr<T>();
    T* target_out = dtarget.mutable_data_ptr<T>();
    at::parallel_for(
        0, z.size(0), kRowsPerTask,
        [&, in = ListPointers(incoming), turned = ListPointers(outgoing)](
            std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            target_out[i] = pass.TargetGradient(in, i);
            source_out[i] = pass.SourceGradient(turned, i, z_out);
          }
        });
    return {dz, dsource, dtarget, at::Tensor()};
  }
};

// With an edge list, loops included, and ATen's differentiable operators.
at::Tensor AttendWithAten(const at::Tensor& z, const at::Tensor& source,
                          const at::Tensor& target,
                          const NeighbourLists& incoming) {
  const std::int64_t nodes = z.size(0);
  const at::Tensor own = at::arange(nodes, incoming.begin.options());
  const at::Tensor from = at::cat({incoming.neighbour, own}).to(at::kLong);
  const at::Tensor to = at::cat({RowOfEachEdge(incoming), own}).to(at::kLong);
  const at::Tensor score =
      at::leaky_relu(source.index_select(0, from) + target.index_select(0, to),
                     kNegativeSlope);
  const at::Tensor largest = at::full_like(source, -INFINITY)
                                 .index_reduce(0, to, score.detach(), "amax");
  const at::Tensor weight = (score - largest.index_select(0, to)).exp();
  const at::Tensor total = at::zeros_like(source).index_add(0, to, weight);
  const at::Tensor messages = z.index_select(0, from) *
                              (weight / total.index_select(0, to)).unsqueeze(1);
  return at::zeros_like(z).index_add(0, to, messages);
}

}  // namespace

at::Tensor AttendToProducers(const at::Tensor& z, const at::Tensor& source,
                             const at::Tensor& target,
                             const Aggregation& edges) {
  const bool is_double = z.scalar_type() == at::kDouble;
  const auto prepared = [&](const at::Tensor& tensor) {
    return tensor.to(is_double ? at::kDouble : at::kFloat).contiguous();
  };
  const at::Tensor rows = prepared(z);
  const at::Tensor from = prepared(source);
  const at::Tensor to = prepared(target);
  if (!z.is_cpu()) return AttendWithAten(rows, from, to, edges.incoming);
  return is_double ? AttendFunction<double>::apply(rows, from, to, edges)
                   : AttendFunction<float>::apply(rows, from, to, edges);
}

}  // namespace foretell::learned
