#include "src/program/lora.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/program/name_pattern.h"
#include "src/program/quantized_weights.h"
#include "src/program/weight_products.h"

namespace foretell {
namespace {

/// lora_alpha / r; any factor other than 1 costs the same.
constexpr double kScaling = 2.0;
thread_local LoraAdapters* current_adapters = nullptr;
/// While the layer itself is called.
thread_local bool is_inside = false;

class InsideScope {
 public:
  InsideScope() { is_inside = true; }
  ~InsideScope() { is_inside = false; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;
};

at::Tensor Trained(const at::Tensor& like,
                   std::initializer_list<std::int64_t> shape) {
  at::Tensor tensor = at::empty(shape, like.options().dtype(at::kFloat));
  return tensor.set_requires_grad(true);
}

}  // namespace

LoraAdapters::LoraAdapters(const LoraSpec& spec,
                           const ProgramInstance& instance)
    : targets_(spec.targets) {
  if (spec.rank < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("LoRA of rank {}, expected at least 1", spec.rank));
  }
  const NamePattern adapted_names(spec.targets);
  for (const NamedTensor& parameter : instance.Parameters()) {
    const at::Tensor& weight = parameter.tensor;
    weight.set_requires_grad(false);
    if (weight.dim() != 2 || !adapted_names.IsFoundIn(parameter.name)) continue;
    const Adapter adapter = {weight,
                             Trained(weight, {spec.rank, weight.size(1)}),
                             Trained(weight, {weight.size(0), spec.rank})};
    adapters_.emplace(weight.storage().unsafeGetStorageImpl(), adapter);
    parameters_.push_back({parameter.name + ".lora_A", adapter.narrow});
    parameters_.push_back({parameter.name + ".lora_B", adapter.wide});
  }
  RequireFound();
  current_adapters = this;
}

LoraAdapters::~LoraAdapters() { current_adapters = nullptr; }

void LoraAdapters::RequireFound() const {
  if (!adapters_.empty()) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is found in the name of no matrix of the "
                          "network: LoRA has nothing to adapt",
                          targets_));
}

void LoraAdapters::RequireUse() const {
  if (is_used_) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("no linear layer and no matrix product has a weight "
                          "in whose name '{}' is found: LoRA has nothing to "
                          "adapt",
                          targets_));
}

const LoraAdapters::Adapter* LoraAdapters::Find(
    const at::Tensor& weight) const {
  if (weight.dim() != 2 || !weight.has_storage()) return nullptr;
  const auto found = adapters_.find(weight.storage().unsafeGetStorageImpl());
  if (found == adapters_.end()) return nullptr;
  const bool is_whole = weight.numel() == found->second.weight.numel();
  return is_whole ? &found->second : nullptr;
}

bool LoraAdapters::Intercept(const c10::OperatorHandle& op,
                             torch::jit::Stack& stack) {
  if (current_adapters == nullptr || is_inside) return false;
  const WeightProduct* const product = WeightProductOf(op);
  if (product == nullptr) return false;
  const std::size_t first = stack.size() - op.schema().arguments().size();
  const at::Tensor weight = stack[first + product->weight].toTensor();
  const Adapter* const adapter = current_adapters->Find(weight);
  if (adapter == nullptr) return false;
  current_adapters->is_used_ = true;
  const at::Tensor input = stack[first + product->input].toTensor();
  {
    const InsideScope inside;
    op.callBoxed(&stack);
  }
  at::Tensor result = stack.back().toTensor();
  stack.pop_back();
  if (QuantizedWeights::IsCopiedByAdapters(weight)) result = result.clone();
  const bool as_it_lies = weight.strides() == adapter->weight.strides() &&
                          weight.sizes() == adapter->weight.sizes();
  const at::ScalarType type = result.scalar_type();
  result = at::add(result,
                   Adapted(*adapter, input, as_it_lies == product->transposes));
  stack.emplace_back(InType(result, type));
  return true;
}

/// s·B(Ax), for a weight [out, in] if `by_rows`, else [in, out]. Each tensor
/// dies once the next is made, as in one expression of Python.
at::Tensor LoraAdapters::Adapted(const Adapter& adapter,
                                 const at::Tensor& input, bool by_rows) {
  at::Tensor low = by_rows
                       ? at::linear(InType(input, at::kFloat), adapter.narrow)
                       : at::matmul(InType(input, at::kFloat), adapter.wide);
  const at::Tensor high =
      by_rows ? at::linear(low, adapter.wide) : at::matmul(low, adapter.narrow);
  low.reset();
  return at::mul(high, kScaling);
}

}  // namespace foretell
