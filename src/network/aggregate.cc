// Sums over neighbours, differentiable, in compressed rows.
//
// One linear map A serves GraphSAGE's mean, GIN's sum and GCN's normalised sum
// (segment_sum.h). Its gradient is the transposed map, and the transposed lists
// are in the batch: forward and backward are the same loop over rows, each row
// written by one thread. Automatic differentiation of a gather and an
// index_add would instead store [num_edges, features] twice per layer.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "src/network/device_sum.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {
namespace {

// Rows below this many elements are not worth a second thread.
constexpr std::int64_t kElementsPerTask = 16384;

Aggregation Transposed(const Aggregation& a) {
  return {a.outgoing,  a.incoming,     a.adds_own,
          a.own_scale, a.target_scale, a.source_scale};
}

template <typename T>
Rows<const T> ReadRows(const at::Tensor& x) {
  return {x.const_data_ptr<T>(), x.stride(0)};
}

template <typename T>
const T* ScalePointer(const at::Tensor& scale) {
  return scale.defined() ? scale.const_data_ptr<T>() : nullptr;
}

template <typename T>
SegmentSum<T> MakeSum(const Aggregation& a, const at::Tensor& x,
                      const at::Tensor& out) {
  SegmentSum<T> sum;
  sum.num_rows = out.size(0);
  sum.num_columns = out.size(1);
  sum.begin = a.incoming.begin.const_data_ptr<std::int32_t>();
  sum.neighbour = a.incoming.neighbour.const_data_ptr<std::int32_t>();
  sum.x = ReadRows<T>(x);
  if (a.adds_own) sum.own = sum.x;
  sum.own_scale = ScalePointer<T>(a.own_scale);
  sum.source_scale = ScalePointer<T>(a.source_scale);
  sum.target_scale = ScalePointer<T>(a.target_scale);
  sum.out = {out.mutable_data_ptr<T>(), out.stride(0)};
  return sum;
}

template <typename T>
void RunOnCpu(const SegmentSum<T>& sum) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, kElementsPerTask / (sum.num_columns + 1));
  at::parallel_for(0, sum.num_rows, grain,
                   [&](std::int64_t first, std::int64_t last) {
                     RunSegmentSum(sum, first, last);
                   });
}

at::Tensor ScaledRows(const at::Tensor& x, const at::Tensor& scale) {
  return scale.defined() ? x * scale.unsqueeze(1) : x;
}

// The same sum from ATen's operators, for devices without a kernel.
void RunWithAten(const Aggregation& a, const at::Tensor& x,
                 const at::Tensor& out) {
  const at::Tensor messages =
      ScaledRows(x, a.source_scale).index_select(0, a.incoming.neighbour);
  out.zero_();
  out.index_add_(0, RowOfEachEdge(a.incoming), messages);
  if (a.target_scale.defined()) out.mul_(a.target_scale.unsqueeze(1));
  if (a.adds_own) out.add_(ScaledRows(x, a.own_scale));
}

// Writes A x to `out`.
void RunAggregation(const Aggregation& a, const at::Tensor& x,
                    const at::Tensor& out) {
  if (x.is_cpu()) {
    x.scalar_type() == at::kFloat ? RunOnCpu(MakeSum<float>(a, x, out))
                                  : RunOnCpu(MakeSum<double>(a, x, out));
  } else if (HasDeviceSum() && x.scalar_type() == at::kFloat) {
    RunDeviceSum(MakeSum<float>(a, x, out), x.device());
  } else {
    RunWithAten(a, x, out);
  }
}

// What the gradient needs to know, kept with the graph of operations.
using Saved = c10::List<at::Tensor>;

Saved Pack(const Aggregation& a) {
  return Saved({a.incoming.begin, a.incoming.neighbour, a.outgoing.begin,
                a.outgoing.neighbour, a.own_scale, a.source_scale,
                a.target_scale});
}

Aggregation Unpack(const Saved& saved, bool adds_own) {
  return {{saved[0], saved[1]},
          {saved[2], saved[3]},
          adds_own,
          saved[4],
          saved[5],
          saved[6]};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AggregateFunction : public torch::autograd::Function<AggregateFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const Aggregation& aggregation) {
    context->saved_data["map"] = Pack(aggregation);
    context->saved_data["own"] = aggregation.adds_own;
    at::Tensor out = at::empty_like(x);
    RunAggregation(aggregation, x, out);
    return out;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    const bool adds_own = context->saved_data["own"].toBool();
    const Aggregation transposed =
        Transposed(Unpack(context->saved_data["map"].toTensorList(), adds_own));
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty_like(gradient);
    RunAggregation(transposed, gradient, out);
    return {out, at::Tensor()};
  }
};

// Rows that the sums can read: contiguous float32 or float64.
at::Tensor Prepared(const at::Tensor& x) {
  const bool kept =
      x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  return (kept ? x : x.to(at::kFloat)).contiguous();
}

// The scales in the type of the rows.
Aggregation Matching(const Aggregation& aggregation, const at::Tensor& x) {
  Aggregation result = aggregation;
  for (at::Tensor* scale :
       {&result.own_scale, &result.source_scale, &result.target_scale}) {
    if (scale->defined()) *scale = scale->to(x.scalar_type());
  }
  return result;
}

at::Tensor Degrees(const GraphBatch& batch) {
  const at::Tensor& begin = batch.incoming.begin;
  return (begin.slice(0, 1) - begin.slice(0, 0, -1))
      .to(batch.nodes.scalar_type());
}

}  // namespace

Aggregation SumOfProducers(const GraphBatch& batch) {
  return {.incoming = batch.incoming, .outgoing = batch.outgoing};
}

Aggregation MeanOfProducers(const GraphBatch& batch) {
  Aggregation result = SumOfProducers(batch);
  result.target_scale = Degrees(batch).clamp_min_(1).reciprocal_();
  return result;
}

Aggregation SumWithSelf(const GraphBatch& batch) {
  Aggregation result = SumOfProducers(batch);
  result.adds_own = true;
  return result;
}

Aggregation SymmetricMean(const GraphBatch& batch) {
  Aggregation result = SumWithSelf(batch);
  result.own_scale = Degrees(batch).add_(1).reciprocal_();
  result.source_scale = result.own_scale.sqrt();
  result.target_scale = result.source_scale;
  return result;
}

at::Tensor Aggregate(const at::Tensor& x, const Aggregation& aggregation) {
  const at::Tensor rows = Prepared(x);
  return AggregateFunction::apply(rows, Matching(aggregation, rows));
}

}  // namespace foretell::learned
