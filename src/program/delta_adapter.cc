#include "src/program/delta_adapter.h"

#include <ATen/ops/kron.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using DeltaTensors = torch::autograd::variable_list;

/// Any factor other than 1 costs the same.
constexpr double kDeltaScale = 2.0;

/// (w1a·w1b) ∘ (w2a·w2b) · s: HadaWeight of loha/layer.py, which makes both
/// products again in the backward pass.
struct HadaWeightFunction : torch::autograd::Function<HadaWeightFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& w1a,
                            const at::Tensor& w1b, const at::Tensor& w2a,
                            const at::Tensor& w2b) {
    context->save_for_backward({w1a, w1b, w2a, w2b});
    const at::Tensor both = at::mul(at::matmul(w1a, w1b), at::matmul(w2a, w2b));
    return at::mul(both, kDeltaScale);
  }

  static DeltaTensors backward(AutogradContext* context,
                               const DeltaTensors& gradients) {
    const DeltaTensors w = context->get_saved_variables();
    const at::Tensor scaled = at::mul(gradients[0], kDeltaScale);
    at::Tensor part = at::mul(scaled, at::matmul(w[2], w[3]));
    const at::Tensor w1a = at::matmul(part, w[1].t());
    const at::Tensor w1b = at::matmul(w[0].t(), part);
    part = at::mul(scaled, at::matmul(w[0], w[1]));
    const at::Tensor w2a = at::matmul(part, w[3].t());
    const at::Tensor w2b = at::matmul(w[2].t(), part);
    return {w1a, w1b, w2a, w2b};
  }
};

/// `dimension` as a product, the smaller factor first: factorization() of
/// lokr/layer.py.
std::pair<std::int64_t, std::int64_t> Factors(std::int64_t dimension,
                                              std::int64_t factor) {
  if (factor > 0 && dimension % factor == 0) {
    return {factor, dimension / factor};
  }
  if (factor == -1) factor = dimension;
  std::int64_t m = 1;
  std::int64_t n = dimension;
  const std::int64_t length = m + n;
  while (m < n) {
    std::int64_t next = m + 1;
    while (dimension % next != 0) ++next;
    if (next + dimension / next > length || next > factor) break;
    m = next;
    n = dimension / next;
  }
  return std::minmax(m, n);
}

void AddMatrix(const LoraSpec& spec, const at::Tensor& weight,
               const std::string& name, bool is_whole,
               std::pair<std::int64_t, std::int64_t> sizes,
               std::vector<NamedTensor>& parts) {
  const auto [m, n] = sizes;
  if (is_whole) {
    parts.push_back({name, MakeTrained(spec, weight, {m, n})});
    return;
  }
  parts.push_back({name + "_a", MakeTrained(spec, weight, {m, spec.rank})});
  parts.push_back({name + "_b", MakeTrained(spec, weight, {spec.rank, n})});
}

/// The matrix whose parts begin at `next`, which moves behind them.
at::Tensor Matrix(const std::vector<NamedTensor>& parts, std::size_t& next) {
  const NamedTensor& first = parts[next++];
  if (!first.name.ends_with("_a")) return first.tensor;
  return at::matmul(first.tensor, parts[next++].tensor);
}

at::Tensor DeltaWeight(const LoraSpec& spec, const LayerAdapter& adapter) {
  const std::vector<NamedTensor>& parts = adapter.parts;
  if (spec.method == AdapterMethod::kLoHa) {
    return HadaWeightFunction::apply(parts[0].tensor, parts[1].tensor,
                                     parts[2].tensor, parts[3].tensor);
  }
  std::size_t next = 0;
  const at::Tensor left = Matrix(parts, next);
  const at::Tensor right = Matrix(parts, next);
  const at::Tensor product = at::kron(left, right);
  return at::mul(product, kDeltaScale);
}

}  // namespace

std::vector<NamedTensor> MakeLoHaParts(const LoraSpec& spec,
                                       const at::Tensor& weight) {
  std::vector<NamedTensor> parts;
  for (const char* name : {".hada_w1", ".hada_w2"}) {
    AddMatrix(spec, weight, name, /*is_whole=*/false,
              {weight.size(0), weight.size(1)}, parts);
  }
  return parts;
}

std::vector<NamedTensor> MakeLoKrParts(const LoraSpec& spec,
                                       const at::Tensor& weight) {
  const auto in = Factors(weight.size(1), spec.factor);
  const auto out = Factors(weight.size(0), spec.factor);
  const bool splits_left =
      spec.both && 2 * spec.rank < std::max(out.first, in.first);
  const bool splits_right = 2 * spec.rank < std::max(out.second, in.second);
  std::vector<NamedTensor> parts;
  AddMatrix(spec, weight, ".lokr_w1", !splits_left, {out.first, in.first},
            parts);
  AddMatrix(spec, weight, ".lokr_w2", !splits_right, {out.second, in.second},
            parts);
  return parts;
}

at::Tensor DeltaTerm(const LoraSpec& spec, const LayerAdapter& adapter,
                     const at::Tensor& input) {
  const at::Tensor delta = DeltaWeight(spec, adapter);
  return at::linear(InType(input, delta.scalar_type()), delta);
}

}  // namespace foretell
