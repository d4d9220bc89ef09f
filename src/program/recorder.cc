// Recording operators with a boxed fallback on a mode key.
//
// A fallback on DispatchKey::TESTING_ONLY_GenericMode sees every call that
// reaches the dispatcher from outside another operator, with its schema and
// exact arguments, in eager code, in the TorchScript interpreter and in the
// autograd engine. An operator that is made of others is one node; the key
// stays on while it runs, so that the node lists the calls which PyTorch makes
// inside (inner_calls.h). While one with a kernel of its own runs it is
// excluded. at::RecordFunction was rejected: it hands out the interpreter's
// whole stack, misses some operators, and its layout depends on NDEBUG. The
// key's name says "testing", so this file is its only user.
#include "src/program/recorder.h"

#include <ATen/ATen.h>
#include <ATen/functorch/DynamicLayer.h>
#include <fmt/core.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/program/autocast.h"
#include "src/program/batch_counts.h"
#include "src/program/call_checks.h"
#include "src/program/context_parallel.h"
#include "src/program/fused_kernels.h"
#include "src/program/host_operators.h"
#include "src/program/lora.h"
#include "src/program/meta/meta_kernels.h"
#include "src/program/meta/written_call.h"
#include "src/program/operand_checks.h"
#include "src/program/operator_call.h"
#include "src/program/perform.h"
#include "src/program/quantized_weights.h"
#include "src/program/virtual_tokens.h"

namespace foretell {
namespace {

constexpr c10::DispatchKey kHookKey =
    c10::DispatchKey::TESTING_ONLY_GenericMode;
/// While it lives, calls that the running operator makes reach the hook, or do
/// not.
class HookedScope {
 public:
  explicit HookedScope(bool hooks)
      : was_off_(c10::impl::tls_is_dispatch_key_excluded(kHookKey)) {
    c10::impl::tls_set_dispatch_key_excluded(kHookKey, !hooks);
  }
  ~HookedScope() {
    c10::impl::tls_set_dispatch_key_excluded(kHookKey, was_off_);
  }
  HookedScope(const HookedScope&) = delete;
  HookedScope& operator=(const HookedScope&) = delete;

 private:
  bool was_off_;
};

/// Calls of a trace beyond which it counts as endless. A training step
/// makes about 30 calls per layer; this is enough for 4,000 layers and two
/// steps.
constexpr std::int64_t kMaxCalls = 150'000;
thread_local Recorder* current_recorder = nullptr;

void RequireFew(std::int64_t calls) {
  if (calls <= kMaxCalls) return;
  throw Unsupported("is call {}, a trace has at most {}", calls, kMaxCalls);
}

void RecorderHook(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
  const c10::DispatchKeySet rest =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kHookKey);
  // vmap replaces the call by calls on whole batches, which come here again.
  if (!at::functorch::getDynamicLayerStack().empty()) {
    return op.redispatchBoxed(rest, stack);
  }
  const bool inside =
      current_recorder != nullptr && current_recorder->is_inside();
  if (!inside && (VirtualTokens::Intercept(op, *stack) ||
                  LoraAdapters::Intercept(op, *stack) ||
                  QuantizedWeights::Intercept(op, *stack) ||
                  FusedKernelScope::Intercept(op, *stack) ||
                  ContextParallelScope::Intercept(op, *stack))) {
    return;
  }
  if (AutocastRegion::Intercept(op, keys, *stack)) return;
  if (inside) return current_recorder->CallInside(op, rest, *stack);
  BatchCounts::Note(op, *stack);
  const c10::impl::ExcludeDispatchKeyGuard off(kHookKey);
  if (current_recorder != nullptr) {
    current_recorder->Call(op, rest, *stack);
  } else {
    op.redispatchBoxed(rest, stack);
  }
}

}  // namespace

void InstallRecorderHook() {
  static std::once_flag once;
  std::call_once(once, [] {
    static torch::Library library(torch::Library::IMPL, "_", kHookKey, __FILE__,
                                  __LINE__);
    library.fallback(
        torch::CppFunction::makeFromBoxedFunction<&RecorderHook>());
  });
}

Recorder::Recorder(GraphInfo info, c10::DeviceType device)
    : builder_(std::move(info)), device_(device) {
  if (current_recorder != nullptr) {
    throw InternalFailure("a recorder is already active");
  }
  current_recorder = this;
  listening_.emplace(*this, device);
  hook_.emplace(kHookKey);
}

Recorder::~Recorder() {
  hook_.reset();
  listening_.reset();
  held_.Return();
  current_recorder = nullptr;
}

Recorder* Recorder::Current() { return current_recorder; }

std::int32_t Recorder::OnAllocate(std::size_t bytes) {
  const StorageId storage =
      builder_.AddStorage(static_cast<std::int64_t>(bytes), role_);
  living_.resize(static_cast<size_t>(storage) + 1, false);
  living_[static_cast<size_t>(storage)] = true;
  builder_.Allocate(storage, CurrentNode());
  return storage;
}

void Recorder::OnFree(std::int32_t storage) {
  living_[static_cast<size_t>(storage)] = false;
  builder_.Free(storage, CurrentNode());
}

NodeId Recorder::CurrentNode() const {
  return builder_.num_nodes() - (inside_node_ ? 0 : 1);
}

void Recorder::Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack& stack) {
  try {
    if (IsGradientSum(op, stack)) {
      static const c10::OperatorHandle kInPlace =
          c10::Dispatcher::singleton().findSchemaOrThrow("aten::add_",
                                                         "Tensor");
      return CallAndRecord(kInPlace, keys, stack);
    }
    RequireFew(++num_calls_);
    CallAndRecord(op, keys, stack);
  } catch (const Error& error) {
    const std::string scope = scope_ ? scope_() : "";
    const Error named(
        error.code(),
        fmt::format("{}{} {}", op.schema().name(),
                    scope.empty() ? "" : " in '" + scope + "'", error.what()));
    if (!failure_) failure_ = std::make_exception_ptr(named);
    throw named;
  }
}

bool Recorder::IsGradientSum(const c10::OperatorHandle& op,
                             const torch::jit::Stack& stack) const {
  if (phase_ != Phase::kBackward || device_ != c10::DeviceType::Meta ||
      at::GradMode::is_enabled() || op.schema().name() != "aten::add" ||
      op.schema().overload_name() != "Tensor") {
    return false;
  }
  const at::Tensor& sum = stack[stack.size() - 3].toTensor();
  // The engine's reference and the stack's.
  return sum.use_count() == 2 && sum.has_storage() &&
         sum.storage().use_count() == 1 && sum.is_non_overlapping_and_dense() &&
         sum.sizes() == stack[stack.size() - 2].toTensor().sizes();
}

void Recorder::RethrowFailure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void Recorder::CallAndRecord(const c10::OperatorHandle& op,
                             c10::DispatchKeySet keys,
                             torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t first = stack.size() - schema.arguments().size();
  if (redirect_devices_) {
    ReplaceDevices(stack, first, device_);
    if (device_ == c10::DeviceType::Meta &&
        GiveDevice(schema, stack, device_)) {
      NameOnce(op, made_on_host_);
    }
  }
  const bool touches = TouchesTrace(stack, first);
  if (touches && device_ == c10::DeviceType::Meta) {
    const bool mixes = MixesDevices(schema, stack);
    if (mixes && !expects_host_tensors_) NameOnce(op, made_on_host_);
    if (mixes || expects_host_tensors_) {
      const UnrecordedScope unrecorded(TensorRole::kInput);
      MoveToMeta(schema, stack);
    }
  }
  RequireKnownForms(schema, stack);
  RequireFewParts(schema, stack);
  if (!record_nodes_ || !MakesTensors(schema) ||
      (!touches && !NamesDevice(stack, first, device_))) {
    Perform(op, keys, stack);
    if (touches) NoteSizes(schema, stack);
    return;
  }
  RequireOneType(schema, stack);
  RequireOperandsFit(op, stack);
  NodeSpec spec = SpecOf(op, stack);
  std::vector<at::Tensor> results = Mutated(schema, stack, first);
  const size_t num_mutated = results.size();

  inside_node_ = true;
  if (touches && ListsCalls(op, device_)) {
    inner_calls_.emplace(
        [this](const at::Tensor& tensor) { return Know(tensor); });
  }
  try {
    Perform(op, keys, stack);
  } catch (...) {
    inside_node_ = false;
    inner_calls_.reset();
    throw;
  }
  inside_node_ = false;
  std::optional<InnerCalls> inner = std::exchange(inner_calls_, std::nullopt);
  const size_t num_returns = schema.returns().size();
  for (size_t i = stack.size() - num_returns; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      for (size_t k = 0; k < num_mutated; ++k) {
        if (results[k].is_same(tensor)) return;
      }
      if (tensor.device().type() == device_) results.push_back(tensor);
    });
  }
  if (!touches && results.empty()) return;
  const NodeId node = builder_.AddNode(std::move(spec));
  RecordResults(node, results);
  if (!inner) return;
  std::vector<std::pair<at::Tensor, ValueId>> values;
  for (const at::Tensor& tensor : results) {
    if (tensor.device().type() == device_) {
      values.emplace_back(tensor, ValueOf(tensor));
    }
  }
  inner->AddTo(builder_, node, values,
               [this](const std::string& name) { return FreshName(name); });
}

void Recorder::CallInside(const c10::OperatorHandle& op,
                          c10::DispatchKeySet keys, torch::jit::Stack& stack) {
  const InnerCallKind kind = InnerCallKindOf(op);
  const HookedScope hooked(kind == InnerCallKind::kOuter);
  RequireFew(++num_inner_calls_);
  const std::int64_t before = num_inner_calls_;
  if (kind == InnerCallKind::kUnseen) return op.redispatchBoxed(keys, &stack);
  InnerCalls::Call call = inner_calls_->Begin(op, stack);
  op.redispatchBoxed(keys, &stack);
  const bool is_leaf = num_inner_calls_ == before;
  if (is_leaf) inner_calls_->End(std::move(call), op, stack);
}

void Recorder::WriteInside(NodeSpec spec,
                           const std::vector<at::Tensor>& operands,
                           const std::vector<at::Tensor>& results) {
  RequireFew(++num_inner_calls_);
  inner_calls_->Write({.spec = std::move(spec)}, operands, results);
}

void WriteCall(std::string target, const std::vector<at::Tensor>& operands,
               const std::vector<at::Tensor>& results, Attributes attributes) {
  Recorder* const recorder = Recorder::Current();
  if (recorder == nullptr || !recorder->is_inside()) return;
  recorder->WriteInside(
      {.target = std::move(target), .attributes = std::move(attributes)},
      operands, results);
}

NodeSpec Recorder::SpecOf(const c10::OperatorHandle& op,
                          const torch::jit::Stack& stack) {
  const size_t first = stack.size() - op.schema().arguments().size();
  NodeSpec spec{.target = TargetOf(op)};
  std::vector<at::Tensor> operands;
  for (size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      if (tensor.device().type() != device_) return;
      spec.inputs.push_back(ValueOf(tensor));
      operands.push_back(tensor);
    });
  }
  if (calls_ && phase_ == Phase::kForward) {
    held_.Enter(calls_(), builder_.num_nodes());
    for (size_t i = 0; i < operands.size(); ++i) {
      const NodeId maker = builder_.value(spec.inputs[i]).producer;
      if (maker != kNone) held_.Read(operands[i], maker);
    }
  }
  spec.attributes = ToAttributes(op.schema(), stack, first);
  if (AutocastRegion::IsCasting()) {
    spec.attributes.emplace_back(kAutocastAttribute, true);
  }
  spec.phase = phase_;
  if (scope_) spec.scope = scope_();
  return spec;
}

void Recorder::RecordResults(NodeId node,
                             const std::vector<at::Tensor>& results) {
  for (const at::Tensor& tensor : results) {
    if (tensor.device().type() != device_) continue;
    const StorageId storage = StorageOf(tensor);
    const ValueId value =
        builder_.AddResult(node, FreshName(fmt::format("{}", node)),
                           TypeOf(tensor), storage, StridesOf(tensor));
    Track(tensor, value);
  }
}

void Recorder::Perform(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       torch::jit::Stack& stack) {
  if (device_ != c10::DeviceType::Meta) {
    NoteDecision(op, stack);
    const HookedScope hooked(is_inside());
    op.redispatchBoxed(keys, &stack);
    return;
  }
  const size_t first = stack.size() - op.schema().arguments().size();
  if (!TouchesTrace(stack, first)) {
    if (restricts_host_) RequireHostOperator(op.schema(), stack);
    op.redispatchBoxed(keys, &stack);
    return;
  }
  if (DependsOnData(op, stack)) {
    throw Unsupported(
        "depends on the content of a tensor, which a trace without arithmetic "
        "does not have; {}",
        WayOut(op));
  }
  if (HasMetaKernel(op)) {
    const HookedScope hooked(is_inside());
    op.redispatchBoxed(keys, &stack);
    return;
  }
  PerformOnCpuForShapes(op, stack);
  if (std::find(fallbacks_.begin(), fallbacks_.end(), op.schema().name()) ==
      fallbacks_.end()) {
    fallbacks_.push_back(op.schema().name());
  }
}

void Recorder::NoteDecision(const c10::OperatorHandle& op,
                            const torch::jit::Stack& stack) {
  if (DependsOnData(op, stack) &&
      TouchesTrace(stack, stack.size() - op.schema().arguments().size())) {
    NameOnce(op, decided_by_data_);
  }
}

void Recorder::NameOnce(const c10::OperatorHandle& op,
                        std::vector<std::string>& names) const {
  constexpr std::size_t kMostNamed = 3;
  if (names.size() == kMostNamed) return;
  const std::string scope = scope_ ? scope_() : "";
  std::string text = TargetOf(op);
  if (!scope.empty()) text += fmt::format(" in '{}'", scope);
  if (std::ranges::find(names, text) == names.end()) {
    names.push_back(std::move(text));
  }
}

OperatorGraph Recorder::Finish() {
  held_.Return();
  hook_.reset();
  listening_.reset();
  tracked_.clear();
  return builder_.Build();
}

UnrecordedScope::UnrecordedScope(TensorRole role)
    : off_(kHookKey), recorder_(Recorder::Current()) {
  if (recorder_ == nullptr) return;
  previous_ = recorder_->role();
  recorder_->SetRole(role);
}

UnrecordedScope::~UnrecordedScope() {
  if (recorder_ != nullptr) recorder_->SetRole(previous_);
}

UntracedScope::UntracedScope() : off_(kHookKey) {}

NamedDeviceScope::NamedDeviceScope() : recorder_(Recorder::Current()) {
  if (recorder_ == nullptr) return;
  redirected_ = recorder_->redirects_devices();
  recorder_->RedirectDevices(false);
}

NamedDeviceScope::~NamedDeviceScope() {
  if (recorder_ != nullptr) recorder_->RedirectDevices(redirected_);
}

}  // namespace foretell
