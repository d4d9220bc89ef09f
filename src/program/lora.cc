#include "src/program/lora.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/program/name_pattern.h"

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

bool IsLinear(const c10::OperatorHandle& op) {
  static const c10::OperatorHandle kLinear =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::linear", "");
  return op == kLinear;
}

at::Tensor InType(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
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
    const Adapter adapter = {Trained(weight, {spec.rank, weight.size(1)}),
                             Trained(weight, {weight.size(0), spec.rank})};
    adapters_.emplace(weight.unsafeGetTensorImpl(), adapter);
    parameters_.push_back({parameter.name + ".lora_A", adapter.down});
    parameters_.push_back({parameter.name + ".lora_B", adapter.up});
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
              fmt::format("no linear operator has a weight in whose name '{}' "
                          "is found: LoRA has nothing to adapt",
                          targets_));
}

bool LoraAdapters::Intercept(const c10::OperatorHandle& op,
                             torch::jit::Stack& stack) {
  if (current_adapters == nullptr || is_inside || !IsLinear(op)) return false;
  const c10::IValue& weight = stack[stack.size() - 2];
  const auto found =
      current_adapters->adapters_.find(weight.toTensor().unsafeGetTensorImpl());
  if (found == current_adapters->adapters_.end()) return false;
  current_adapters->Call(op, found->second, stack);
  return true;
}

void LoraAdapters::Call(const c10::OperatorHandle& op, const Adapter& adapter,
                        torch::jit::Stack& stack) {
  is_used_ = true;
  const at::Tensor input = stack[stack.size() - 3].toTensor();
  {
    const InsideScope inside;
    op.callBoxed(&stack);
  }
  at::Tensor result = stack.back().toTensor();
  stack.pop_back();
  // Each dies once the next is made, as in one expression of Python.
  at::Tensor low = at::linear(InType(input, at::kFloat), adapter.down);
  at::Tensor high = at::linear(low, adapter.up);
  low.reset();
  const at::Tensor scaled = at::mul(high, kScaling);
  high.reset();
  const at::ScalarType type = result.scalar_type();
  result = at::add(result, scaled);
  stack.emplace_back(InType(result, type));
}

}  // namespace foretell
