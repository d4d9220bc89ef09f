#include "tests/kernels/decomposition.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/program/inner_calls.h"
#include "src/program/operator_call.h"
#include "src/program/recorder.h"

namespace foretell::cost {
namespace {

/// A call that ended, with what it was given and what it returned.
struct Call {
  c10::OperatorName name = {"", ""};
  std::vector<c10::IValue> inputs;
  std::vector<c10::IValue> outputs;
  std::vector<std::unique_ptr<Call>> inside;
};

/// The calls of this thread while a recorder lives.
class CallRecorder {
 public:
  CallRecorder() : handle_(Register()) { open = {&root_}; }
  ~CallRecorder() { at::removeCallback(handle_); }
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  const Call& root() const { return root_; }

 private:
  static at::CallbackHandle Register() {
    return at::addThreadLocalCallback(at::RecordFunctionCallback(&Begin, &End)
                                          .needsInputs(true)
                                          .needsOutputs(true)
                                          .scopes({at::RecordScope::FUNCTION}));
  }

  static std::unique_ptr<at::ObserverContext> Begin(
      const at::RecordFunction& function) {
    auto call = std::make_unique<Call>();
    if (function.operator_name()) call->name = *function.operator_name();
    call->inputs.assign(function.inputs().begin(), function.inputs().end());
    Call* const entered = call.get();
    open.back()->inside.push_back(std::move(call));
    open.push_back(entered);
    return nullptr;
  }

  static void End(const at::RecordFunction& function, at::ObserverContext*) {
    open.back()->outputs = function.outputs();
    open.pop_back();
  }

  static thread_local std::vector<Call*> open;
  Call root_;
  at::CallbackHandle handle_;
};

thread_local std::vector<Call*> CallRecorder::open;

c10::OperatorHandle HandleOf(const Call& call) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      call.name.name.c_str(), call.name.overload_name.c_str());
}

std::string TargetOf(const Call& call) {
  return foretell::TargetOf(HandleOf(call));
}

/// What the trace takes the call for.
InnerCallKind KindOf(const Call& call) {
  return InnerCallKindOf(HandleOf(call));
}

/// True for `contiguous` and `to` where there is nothing to do.
bool ReturnsItsInput(const Call& call) {
  return !TargetOf(call).ends_with('_') && !call.inputs.empty() &&
         !call.outputs.empty() && call.inputs.front().isTensor() &&
         call.outputs.front().isTensor() &&
         call.inputs.front().toTensor().is_same(
             call.outputs.front().toTensor());
}

void AppendParts(const Call& call, std::vector<const Call*>& parts) {
  for (const std::unique_ptr<Call>& inner : call.inside) {
    const InnerCallKind kind = KindOf(*inner);
    if (kind == InnerCallKind::kUnseen) continue;
    if (kind == InnerCallKind::kLeaf) {
      parts.push_back(inner.get());
      continue;
    }
    const bool is_kernel = inner->inside.empty() && !ReturnsItsInput(*inner);
    if (is_kernel) parts.push_back(inner.get());
    AppendParts(*inner, parts);
  }
}

/// Builds a graph of calls; tensors are told apart by their objects, which the
/// calls keep alive.
class CallGraph {
 public:
  CallGraph() : builder_(GraphInfo{.name = "calls"}) {}

  void Add(const Call& call) {
    const c10::OperatorHandle op = HandleOf(call);
    const auto& arguments = op.schema().arguments();
    NodeSpec spec{.target = foretell::TargetOf(op),
                  .inputs = {},
                  .attributes = ToAttributes(op.schema(), call.inputs, 0)};
    const bool copies = spec.target == "copy_";
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const bool is_out = arguments[i].alias_info() != nullptr &&
                          arguments[i].alias_info()->isWrite() &&
                          arguments[i].kwarg_only();
      if (is_out || (copies && i == 0)) continue;
      ForEachTensor(call.inputs[i], [&](const at::Tensor& tensor) {
        const bool is_number =
            tensor.unsafeGetTensorImpl()->is_wrapped_number();
        if (!is_number) spec.inputs.push_back(ValueOf(tensor));
      });
    }
    const NodeId node = builder_.AddNode(std::move(spec));
    for (const c10::IValue& output : call.outputs) {
      ForEachTensor(output, [&](const at::Tensor& tensor) {
        values_[tensor.unsafeGetTensorImpl()] = builder_.AddResult(
            node, "", TypeOf(tensor), StorageOf(tensor), StridesOf(tensor));
      });
    }
  }

  OperatorGraph Build() {
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  StorageId StorageOf(const at::Tensor& tensor) {
    const auto* const key = tensor.storage().unsafeGetStorageImpl();
    const auto known = storages_.find(key);
    if (known != storages_.end()) return known->second;
    const StorageId storage = builder_.AddStorage(
        static_cast<std::int64_t>(tensor.storage().nbytes()),
        TensorRole::kInput);
    storages_.emplace(key, storage);
    return storage;
  }

  ValueId ValueOf(const at::Tensor& tensor) {
    const auto known = values_.find(tensor.unsafeGetTensorImpl());
    if (known != values_.end()) return known->second;
    const ValueId source = builder_.AddSource(
        "", TypeOf(tensor), StorageOf(tensor), StridesOf(tensor));
    builder_.MarkInput(source);
    values_.emplace(tensor.unsafeGetTensorImpl(), source);
    return source;
  }

  GraphBuilder builder_;
  std::unordered_map<const at::TensorImpl*, ValueId> values_;
  std::unordered_map<const c10::StorageImpl*, StorageId> storages_;
};

OperatorGraph GraphOf(const std::vector<const Call*>& calls) {
  CallGraph graph;
  for (const Call* call : calls) graph.Add(*call);
  return graph.Build();
}

}  // namespace

Decomposition Decompose(const std::function<void()>& body) {
  const at::NoGradGuard no_grad;
  CallRecorder recorder;
  body();
  std::vector<const Call*> whole;
  std::vector<const Call*> parts;
  for (const std::unique_ptr<Call>& call : recorder.root().inside) {
    whole.push_back(call.get());
  }
  if (whole.size() == 1) {
    AppendParts(*whole.front(), parts);
  } else {
    AppendParts(recorder.root(), parts);
  }
  return {GraphOf(whole), GraphOf(parts)};
}

std::ostream& operator<<(std::ostream& stream, const KernelWork& work) {
  return stream << work.macs << " MACs, " << work.bytes << " bytes";
}

OperatorGraph TraceOf(const std::function<std::function<void()>()>& make) {
  Recorder recorder({}, at::kMeta);
  std::optional<UnrecordedScope> unrecorded;
  unrecorded.emplace(TensorRole::kInput);
  const std::function<void()> call = make();
  unrecorded.reset();
  recorder.SetRole(TensorRole::kActivation);
  call();
  return recorder.Finish();
}

KernelWork WorkOf(const OperatorGraph& graph, const Run& mode) {
  KernelWork work;
  for (const Kernel& kernel : ExpandKernels(graph, mode)) {
    work.macs += kernel.count * kernel.macs;
    work.bytes += kernel.count * kernel.Bytes();
  }
  return work;
}

}  // namespace foretell::cost
