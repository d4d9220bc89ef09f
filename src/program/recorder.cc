// Recording operators with a boxed fallback on a mode key.
//
// A fallback on DispatchKey::TESTING_ONLY_GenericMode sees every call that
// reaches the dispatcher from outside another operator, with its schema and
// exact arguments, in eager code, in the TorchScript interpreter and in the
// autograd engine. Excluding the key while the operator runs keeps composites
// such as conv2d whole. at::RecordFunction was rejected: it hands out the
// interpreter's whole stack, misses some operators, and its layout depends on
// NDEBUG. The key's name says "testing", so this file is its only user.

#include "src/program/recorder.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "foretell/error.h"
#include "src/program/meta/meta_kernels.h"
#include "src/program/perform.h"

namespace foretell {
namespace {

constexpr c10::DispatchKey kHookKey =
    c10::DispatchKey::TESTING_ONLY_GenericMode;
/// Calls of a trace beyond which it is taken to be endless. A training step
/// makes about 30 calls per layer; this is enough for 4,000 layers and two
/// steps.
constexpr std::int64_t kMaxCalls = 150'000;
thread_local Recorder* current_recorder = nullptr;

void Hook(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
          torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(kHookKey);
  const c10::DispatchKeySet rest =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kHookKey);
  if (current_recorder != nullptr) {
    current_recorder->Call(op, rest, *stack);
  } else {
    op.redispatchBoxed(rest, stack);
  }
}

/// Calls `visit` on every defined tensor in `value`, in order.
template <typename Visit>
void ForEachTensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isList() || value.isTuple()) {
    const auto elements = value.isList() ? value.toListRef().vec()
                                         : value.toTupleRef().elements().vec();
    for (const c10::IValue& element : elements) ForEachTensor(element, visit);
  }
}

/// Arguments that say where and in which form a result is stored; dtype and
/// shape of the result already do.
bool IsPlacement(const std::string& argument) {
  static const std::set<std::string> kNames = {
      "layout", "device", "pin_memory", "memory_format", "generator", "dtype"};
  return kNames.count(argument) != 0;
}

std::optional<Attribute> ToAttribute(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isIntList()) return value.toIntVector();
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isBoolList()) {
    std::vector<std::int64_t> flags;
    for (const bool flag : value.toBoolList()) flags.push_back(flag ? 1 : 0);
    return flags;
  }
  return std::nullopt;
}

Attributes ToAttributes(const c10::FunctionSchema& schema,
                        const torch::jit::Stack& stack, size_t first) {
  Attributes attributes;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    if (IsPlacement(name)) continue;
    std::optional<Attribute> attribute = ToAttribute(stack[first + i]);
    if (attribute) attributes.emplace_back(name, std::move(*attribute));
  }
  return attributes;
}

std::string TargetOf(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
}

void ReplaceDevices(torch::jit::Stack& stack, size_t first,
                    c10::DeviceType device) {
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isDevice()) stack[i] = c10::Device(device);
  }
}

/// Tensors among the arguments that the operator writes.
std::vector<at::Tensor> Mutated(const c10::FunctionSchema& schema,
                                const torch::jit::Stack& stack, size_t first) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    ForEachTensor(stack[first + i],
                  [&](const at::Tensor& t) { tensors.push_back(t); });
  }
  return tensors;
}

bool HoldsTensors(const c10::Type& type) {
  if (const auto* list = type.castRaw<c10::ListType>()) {
    return HoldsTensors(*list->getElementType());
  }
  if (const auto* optional = type.castRaw<c10::OptionalType>()) {
    return HoldsTensors(*optional->getElementType());
  }
  return type.kind() == c10::TypeKind::TensorType;
}

/// False for `size`, `dim`, `item` and other questions, which are no work.
bool MakesTensors(const c10::FunctionSchema& schema) {
  return schema.is_mutable() ||
         std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument& result) {
                       return HoldsTensors(*result.type());
                     });
}

TensorType TypeOf(const at::Tensor& tensor) {
  return {ToDType(tensor.scalar_type()), tensor.sizes().vec()};
}

}  // namespace

void InstallRecorderHook() {
  static std::once_flag once;
  std::call_once(once, [] {
    static torch::Library library(torch::Library::IMPL, "_", kHookKey, __FILE__,
                                  __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&Hook>());
  });
}

Recorder::Recorder(GraphInfo info, c10::DeviceType device)
    : builder_(std::move(info)), device_(device) {
  if (current_recorder != nullptr) {
    throw Error(ErrorCode::kInternal, "a recorder is already active");
  }
  current_recorder = this;
  listening_.emplace(*this, device);
  hook_.emplace(kHookKey);
}

Recorder::~Recorder() {
  hook_.reset();
  listening_.reset();
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

bool Recorder::BelongsToTrace(const at::Tensor& tensor) const {
  if (tensor.device().type() != device_) return false;
  if (device_ == c10::DeviceType::Meta) return true;
  if (tracked_.count(tensor.unsafeGetTensorImpl()) != 0) return true;
  if (!tensor.has_storage()) return false;
  const std::int32_t storage =
      LedgerNumber(tensor.storage().data_ptr().get_context(), device_);
  if (storage < 0) return false;
  // State made in the warm-up step has no value yet.
  return values_in_.count(storage) != 0 ||
         builder_.storage(storage).role == TensorRole::kOptimizerState;
}

bool Recorder::TouchesTrace(const torch::jit::Stack& stack,
                            size_t first) const {
  bool touches = false;
  for (size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      touches = touches || BelongsToTrace(tensor);
    });
  }
  return touches;
}

StorageId Recorder::StorageOf(const at::Tensor& tensor) {
  const std::int32_t known =
      tensor.has_storage()
          ? LedgerNumber(tensor.storage().data_ptr().get_context(), device_)
          : -1;
  if (known >= 0) return known;
  const c10::StorageImpl* address =
      tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  const auto found = foreign_.find(address);
  if (found != foreign_.end()) return found->second.second;
  const StorageId storage =
      builder_.AddStorage(TypeOf(tensor).Bytes(), TensorRole::kBuffer);
  living_.resize(static_cast<size_t>(storage) + 1, true);
  builder_.Allocate(storage, CurrentNode());
  if (address != nullptr) {
    foreign_.emplace(address, std::pair(tensor.storage(), storage));
  }
  return storage;
}

void Recorder::Track(const at::Tensor& tensor, ValueId value) {
  tracked_.insert_or_assign(
      tensor.unsafeGetTensorImpl(),
      Tracked{c10::weak_intrusive_ptr<at::TensorImpl>(tensor.getIntrusivePtr()),
              value});
  values_in_[builder_.value(value).storage].push_back(value);
}

std::string Recorder::FreshName(const std::string& wanted) {
  int& uses = names_[wanted];
  ++uses;
  return uses == 1 ? wanted : FreshName(wanted + "." + std::to_string(uses));
}

ValueId Recorder::AddSource(const std::string& name, const at::Tensor& tensor) {
  const StorageId storage = StorageOf(tensor);
  const ValueId value =
      builder_.AddSource(FreshName(name), TypeOf(tensor), storage);
  Track(tensor, value);
  return value;
}

ValueId Recorder::ValueOf(const at::Tensor& tensor) {
  const auto found = tracked_.find(tensor.unsafeGetTensorImpl());
  if (found != tracked_.end()) return found->second.value;
  const StorageId storage = StorageOf(tensor);
  const std::vector<ValueId>& candidates = values_in_[storage];
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    if (builder_.value(*it).type.shape == tensor.sizes().vec()) return *it;
  }
  // A view that was made outside the recording, of a parameter's slices say, is
  // a source of its own; a result keeps its data flow.
  const bool is_source =
      candidates.empty() || builder_.value(candidates.back()).producer == kNone;
  if (!is_source) return candidates.back();
  const std::string base =
      candidates.empty()
          ? std::string(TensorRoleName(builder_.storage(storage).role))
          : builder_.value(candidates.back()).name + ".view";
  const ValueId value =
      builder_.AddSource(FreshName(base), TypeOf(tensor), storage);
  Track(tensor, value);
  return value;
}

bool Recorder::IsResult(const at::Tensor& tensor) {
  return builder_.value(ValueOf(tensor)).producer != kNone;
}

void Recorder::MarkInput(const at::Tensor& tensor) {
  builder_.MarkInput(ValueOf(tensor));
}

void Recorder::MarkOutput(const at::Tensor& tensor) {
  builder_.MarkOutput(ValueOf(tensor));
}

void Recorder::SetRoleOf(const at::Tensor& tensor, TensorRole role) {
  builder_.SetRole(StorageOf(tensor), role);
}

void Recorder::ChangeRoleOfLiving(TensorRole from, TensorRole to) {
  for (StorageId id = 0; id < static_cast<StorageId>(living_.size()); ++id) {
    if (living_[static_cast<size_t>(id)] && builder_.storage(id).role == from) {
      builder_.SetRole(id, to);
    }
  }
}

void Recorder::SetParameterElements(std::int64_t elements) {
  builder_.SetParameterElements(elements);
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
    if (++num_calls_ > kMaxCalls) {
      throw Error(ErrorCode::kUnsupported,
                  "is call " + std::to_string(num_calls_) +
                      ", a trace has at most " + std::to_string(kMaxCalls));
    }
    CallAndRecord(op, keys, stack);
  } catch (const Error& error) {
    const std::string scope = scope_ ? scope_() : "";
    const Error named(error.code(),
                      op.schema().name() +
                          (scope.empty() ? "" : " in '" + scope + "'") + " " +
                          error.what());
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
  if (redirect_devices_) ReplaceDevices(stack, first, device_);
  const bool touches = TouchesTrace(stack, first);
  if (!record_nodes_ || !MakesTensors(schema) ||
      (!touches && device_ != c10::DeviceType::Meta)) {
    Perform(op, keys, stack);
    return;
  }
  NodeSpec spec = SpecOf(op, stack);
  std::vector<at::Tensor> results = Mutated(schema, stack, first);
  const size_t num_mutated = results.size();

  inside_node_ = true;
  try {
    Perform(op, keys, stack);
  } catch (...) {
    inside_node_ = false;
    throw;
  }
  inside_node_ = false;
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
}

NodeSpec Recorder::SpecOf(const c10::OperatorHandle& op,
                          const torch::jit::Stack& stack) {
  const size_t first = stack.size() - op.schema().arguments().size();
  NodeSpec spec{.target = TargetOf(op)};
  for (size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      if (tensor.device().type() == device_) {
        spec.inputs.push_back(ValueOf(tensor));
      }
    });
  }
  spec.attributes = ToAttributes(op.schema(), stack, first);
  spec.phase = phase_;
  if (scope_) spec.scope = scope_();
  return spec;
}

void Recorder::RecordResults(NodeId node,
                             const std::vector<at::Tensor>& results) {
  for (const at::Tensor& tensor : results) {
    if (tensor.device().type() != device_) continue;
    const StorageId storage = StorageOf(tensor);
    const ValueId value = builder_.AddResult(
        node, FreshName(std::to_string(node)), TypeOf(tensor), storage);
    Track(tensor, value);
  }
}

void Recorder::Perform(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       torch::jit::Stack& stack) {
  if (device_ != c10::DeviceType::Meta) {
    op.redispatchBoxed(keys, &stack);
    return;
  }
  const size_t first = stack.size() - op.schema().arguments().size();
  if (!TouchesTrace(stack, first)) {
    host_work_.ChargeArguments(op, stack);
    op.redispatchBoxed(keys, &stack);
    host_work_.ChargeResults(op, stack);
    return;
  }
  if (DependsOnData(op, stack)) {
    throw Error(ErrorCode::kUnsupported,
                "depends on the content of a tensor, which a trace without "
                "arithmetic does not have; use --trace cpu");
  }
  if (HasMetaKernel(op)) {
    op.redispatchBoxed(keys, &stack);
    return;
  }
  PerformOnCpuForShapes(op, stack);
  if (std::find(fallbacks_.begin(), fallbacks_.end(), op.schema().name()) ==
      fallbacks_.end()) {
    fallbacks_.push_back(op.schema().name());
  }
}

OperatorGraph Recorder::Finish() {
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

}  // namespace foretell
