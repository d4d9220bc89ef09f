#include "src/program/lora.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "foretell/error.h"
#include "src/program/name_pattern.h"

namespace foretell {
namespace {

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

[[noreturn]] void RefuseNames(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

/// "fc.bias" of "fc.weight"; otherwise the name itself.
std::string BiasOf(const std::string& weight) {
  constexpr std::string_view kWeight = "weight";
  if (!weight.ends_with(kWeight)) return weight;
  return weight.substr(0, weight.size() - kWeight.size()) + "bias";
}

/// Whether it may be a layer's weight. PEFT chooses among layers, so it never
/// adapts experts that are packed into one parameter, [experts, in, out] with a
/// bias [experts, out].
bool IsOfLayer(const NamedTensor& parameter) {
  const std::int64_t rank = parameter.tensor.dim();
  if (parameter.name.ends_with("bias")) return false;
  return rank == 2 || (rank > 2 && parameter.name.ends_with("weight"));
}

bool IsBias(std::string_view name) {
  return name == "bias" || name.ends_with(".bias");
}

}  // namespace

LoraAdapters::LoraAdapters(const LoraSpec& spec,
                           const ProgramInstance& instance, bool keeps_trained)
    : spec_(spec) {
  if (spec.rank < 1 && spec.block < 1 && spec.method != AdapterMethod::kIa3) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("LoRA of rank {}, expected at least 1", spec.rank));
  }
  const NamePattern adapted_names(spec.targets);
  std::vector<NamedTensor> weights;
  for (const NamedTensor& parameter : instance.Parameters()) {
    if (!keeps_trained) parameter.tensor.set_requires_grad(false);
    if (IsOfLayer(parameter) && adapted_names.IsFoundIn(parameter.name)) {
      weights.push_back(parameter);
    }
  }
  if (weights.empty()) {
    RefuseNames(
        fmt::format("'{}' is found in the name of no matrix of the network: "
                    "LoRA has nothing to adapt",
                    spec.targets));
  }
  for (LayerAdapter& adapter : MakeLayerAdapters(spec, weights, parameters_)) {
    const auto* const storage = adapter.weight.storage().unsafeGetStorageImpl();
    adapters_.emplace(storage, std::move(adapter));
  }
  SaveCopies(instance);
  TrainBiases(instance);
  current_adapters = this;
}

LoraAdapters::~LoraAdapters() { current_adapters = nullptr; }

/// The program's own tensor stands for the copy: it is the one that is read.
void LoraAdapters::SaveCopies(const ProgramInstance& instance) {
  if (spec_.save.empty()) return;
  const NamePattern saved_names(spec_.save);
  const std::size_t before = parameters_.size();
  for (const NamedTensor& parameter : instance.Parameters()) {
    const at::Tensor& tensor = parameter.tensor;
    if (!saved_names.IsFoundIn(parameter.name) ||
        !at::isFloatingType(tensor.scalar_type())) {
      continue;
    }
    tensor.set_requires_grad(true);
    parameters_.push_back(
        {parameter.name + ".original", at::empty_like(tensor.detach())});
  }
  if (parameters_.size() > before) return;
  RefuseNames(
      fmt::format("'{}' is found in the name of no parameter of the network: "
                  "LoRA has nothing to save",
                  spec_.save));
}

void LoraAdapters::TrainBiases(const ProgramInstance& instance) const {
  if (spec_.bias == TrainedBiases::kNoBias) return;
  for (const NamedTensor& parameter : instance.Parameters()) {
    if (!IsBias(parameter.name)) continue;
    const bool is_adapted =
        std::ranges::any_of(adapters_, [&](const auto& adapter) {
          return BiasOf(adapter.second.name) == parameter.name;
        });
    if (is_adapted || spec_.bias == TrainedBiases::kEveryBias) {
      parameter.tensor.set_requires_grad(true);
    }
  }
}

void LoraAdapters::RequireUse() const {
  if (is_used_) return;
  RefuseNames(
      fmt::format("no linear layer, embedding, convolution or matrix product "
                  "has a weight in whose name '{}' is found: LoRA has nothing "
                  "to adapt",
                  spec_.targets));
}

LayerAdapter* LoraAdapters::Find(const at::Tensor& weight, WeightUse kind) {
  if (!weight.defined() || !weight.has_storage()) return nullptr;
  const auto found = adapters_.find(weight.storage().unsafeGetStorageImpl());
  if (found == adapters_.end()) return nullptr;
  LayerAdapter& adapter = found->second;
  const bool is_whole = weight.dim() == adapter.weight.dim() &&
                        weight.numel() == adapter.weight.numel();
  return is_whole && adapter.kind.value_or(kind) == kind ? &adapter : nullptr;
}

bool LoraAdapters::IsFirstEmbedding(const at::Tensor& weight, WeightUse kind) {
  if (kind != WeightUse::kEmbedding) return false;
  const c10::StorageImpl* const storage =
      weight.storage().unsafeGetStorageImpl();
  if (first_embedding_ == nullptr) first_embedding_ = storage;
  return storage == first_embedding_;
}

bool LoraAdapters::Intercept(const c10::OperatorHandle& op,
                             torch::jit::Stack& stack) {
  // The backward pass multiplies by the same matrices, without gradients.
  if (current_adapters == nullptr || is_inside || !at::GradMode::is_enabled()) {
    return false;
  }
  const WeightedOperator* const layer = WeightedOperatorOf(op);
  if (layer == nullptr) return false;
  LoraAdapters& self = *current_adapters;
  const std::size_t first = stack.size() - op.schema().arguments().size();
  const at::Tensor weight = stack[first + layer->weight].toTensor();
  LayerAdapter* const adapter = self.Find(weight, layer->kind);
  const bool needs_gradient =
      self.spec_.kbit && self.IsFirstEmbedding(weight, layer->kind);
  if (adapter == nullptr && !needs_gradient) return false;
  const auto begin = stack.begin() + static_cast<std::ptrdiff_t>(first);
  std::optional<AdaptedCall> call;
  std::vector<at::Tensor> held;
  if (adapter != nullptr) {
    call.emplace(AdaptedCall{op, *layer, *adapter,
                             torch::jit::Stack(begin, stack.end())});
    RequireAdaptable(self.spec_, *call);
    adapter->kind = layer->kind;
    self.is_used_ = true;
    const InsideScope inside;
    held = AdaptedInput(self.spec_, *call);
    if (!held.empty()) stack[first + layer->input] = held.back();
  }
  {
    const InsideScope inside;
    op.callBoxed(&stack);
  }
  at::Tensor result = stack.back().toTensor();
  stack.pop_back();
  if (call) {
    const InsideScope inside;  // DoRA reads the layer's own weight once more.
    result = AdaptedResult(self.spec_, *call, std::move(result));
  }
  if (needs_gradient && !result.requires_grad()) result.set_requires_grad(true);
  stack.emplace_back(std::move(result));
  return true;
}

void CastHalfParameters(const ProgramInstance& instance,
                        const QuantizedWeights* quantized) {
  for (const NamedTensor& parameter : instance.Parameters()) {
    const at::ScalarType type = parameter.tensor.scalar_type();
    if (type != at::kHalf && type != at::kBFloat16) continue;
    if (quantized != nullptr && quantized->Has(parameter.tensor)) continue;
    parameter.tensor.set_data(parameter.tensor.detach().to(at::kFloat));
  }
}

}  // namespace foretell
