#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foretell/graph.h"
#include "foretell/program.h"
#include "src/program/held_arguments.h"
#include "src/program/inner_calls.h"
#include "src/program/storage_ledger.h"

namespace foretell {

/// Registers the dispatcher hook that feeds the recorder. Idempotent; throws
/// Error(kInternal) should LibTorch no longer offer the key that carries it.
void InstallRecorderHook();

/// Turns top-level ATen calls on tensors of one device into an OperatorGraph.
///
/// One recorder is active per thread, from construction to destruction. A call
/// is recorded when it touches a tensor of the trace: on meta any meta tensor,
/// on the CPU any tensor that descends from a parameter or an input (so that
/// shape arithmetic stays out).
class Recorder final : public StorageListener {
 public:
  Recorder(GraphInfo info, c10::DeviceType device);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Recorder of this thread, or nullptr.
  static Recorder* Current();

  /// Role of storages that are allocated from now on.
  void SetRole(TensorRole role) { role_ = role; }
  TensorRole role() const { return role_; }
  void SetPhase(Phase phase) { phase_ = phase; }
  /// Between false and true only memory events are recorded (the warm-up step).
  void RecordNodes(bool record) { record_nodes_ = record; }
  NodeId num_nodes() const { return builder_.num_nodes(); }
  /// Whether Device arguments of recorded calls become this trace's device.
  void RedirectDevices(bool redirect) { redirect_devices_ = redirect; }
  bool redirects_devices() const { return redirect_devices_; }
  /// Whether calls that touch nothing of the trace may only be the operators of
  /// host_operators.h, on a trace on meta.
  void RestrictHost(bool restricts) { restricts_host_ = restricts; }
  /// From now on tensors on the host may represent tensors of the trace whose
  /// content is known: operators that compute with one together with tensors
  /// on meta are handed its shape.
  void ExpectHostTensors() { expects_host_tensors_ = true; }
  void SetScope(std::function<std::string()> scope) {
    scope_ = std::move(scope);
  }
  /// The running modules of the forward pass, as ProgramInstance::CurrentCalls
  /// gives them: what they are called with lives until they return.
  void SetCalls(std::function<std::vector<std::string>()> calls) {
    calls_ = std::move(calls);
  }
  /// All of them have returned.
  void ReturnFromCalls() { held_.Return(); }

  /// Declares a tensor that exists before the first operator.
  ValueId AddSource(const std::string& name, const at::Tensor& tensor);
  /// True when a recorded operator made `tensor`: no parameter, buffer or
  /// input, nor an unrecorded view of one.
  bool IsResult(const at::Tensor& tensor);
  /// True of tensors that the recording is about: on meta every meta tensor, on
  /// the CPU what descends from a parameter or an input.
  bool BelongsToTrace(const at::Tensor& tensor) const;
  void MarkInput(const at::Tensor& tensor);
  void MarkOutput(const at::Tensor& tensor);
  StorageId StorageOf(const at::Tensor& tensor);
  /// Changes the role of the storage of `tensor`.
  void SetRoleOf(const at::Tensor& tensor, TensorRole role);
  /// Gives `to` to every living storage that has role `from` now.
  void ChangeRoleOfLiving(TensorRole from, TensorRole to);
  void SetParameterElements(std::int64_t elements);

  /// Called by the hook: performs the operator on `stack` and records it.
  /// Throws Error that names the operator and its scope.
  void Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
            torch::jit::Stack& stack);

  /// True while an operator runs whose calls are recorded.
  bool is_inside() const { return inner_calls_.has_value(); }
  /// Called by the hook for a call inside of an operator, of is_inside().
  void CallInside(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack& stack);

  /// Adds a call that the dispatcher does not see: WriteCall. Requires
  /// is_inside().
  void WriteInside(NodeSpec spec, const std::vector<at::Tensor>& operands,
                   const std::vector<at::Tensor>& results);

  /// Throws the first Error of Call again, if there was one: interpreters and
  /// autograd replace exceptions that pass through them by their own.
  void RethrowFailure() const;

  /// Ends the recording. Tensors of the trace may die afterwards unseen.
  OperatorGraph Finish();
  /// Operators that ran on the CPU because they lack a meta kernel, once each.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }

  /// Operators of a trace on the CPU whose results' shapes, or numbers,
  /// followed from the content of its tensors: "nonzero in 'head'", the first
  /// few.
  const std::vector<std::string>& decided_by_data() const {
    return decided_by_data_;
  }

  /// Operators that make floating-point tensors and name no device, or compute
  /// with one of the host together with tensors of the trace, which eager code
  /// does not do on a GPU: "zeros in 'head'", the first few. The trace has
  /// these tensors on the device.
  const std::vector<std::string>& made_on_host() const { return made_on_host_; }

  std::int32_t OnAllocate(std::size_t bytes) override;
  void OnFree(std::int32_t storage) override;

 private:
  struct Tracked {
    c10::weak_intrusive_ptr<at::TensorImpl> alive;  ///< Keeps the address.
    ValueId value = kNone;
  };

  /// True for the sum of two gradients of one tensor. Autograd forms it in
  /// place when it holds the only reference, except on meta, where it treats
  /// every tensor as a subclass (torch/csrc/autograd/input_buffer.cpp, 2.13).
  bool IsGradientSum(const c10::OperatorHandle& op,
                     const torch::jit::Stack& stack) const;
  bool TouchesTrace(const torch::jit::Stack& stack, size_t first) const;
  /// The value that `tensor` is, made known as a buffer if it is new.
  ValueId ValueOf(const at::Tensor& tensor);
  /// Records `tensor` as a view of `base`, a result in the same storage.
  ValueId AddView(ValueId base, const at::Tensor& tensor);
  void Track(const at::Tensor& tensor, ValueId value);
  void CallAndRecord(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                     torch::jit::Stack& stack);
  NodeSpec SpecOf(const c10::OperatorHandle& op,
                  const torch::jit::Stack& stack);
  void RecordResults(NodeId node, const std::vector<at::Tensor>& results);
  InnerCalls::Known Know(const at::Tensor& tensor);
  /// The number of the storage that `tensor` lies in, -1 where it was made
  /// outside of the recording. What was resized, as kernels of `out=` do it
  /// with an empty result, has as many bytes as it has now.
  std::int32_t NumberOf(const at::Tensor& tensor);
  /// Does so for what a call returned; `stack` ends with it.
  void NoteSizes(const c10::FunctionSchema& schema,
                 const torch::jit::Stack& stack);
  void Perform(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
               torch::jit::Stack& stack);
  void NoteDecision(const c10::OperatorHandle& op,
                    const torch::jit::Stack& stack);
  /// Adds the operator and its scope to `names`, the first few alone.
  void NameOnce(const c10::OperatorHandle& op,
                std::vector<std::string>& names) const;
  std::string FreshName(const std::string& wanted);
  NodeId CurrentNode() const;

  GraphBuilder builder_;
  c10::DeviceType device_;
  std::optional<ListenScope> listening_;
  std::optional<c10::impl::IncludeDispatchKeyGuard> hook_;
  TensorRole role_ = TensorRole::kParameter;
  Phase phase_ = Phase::kForward;
  bool record_nodes_ = true;
  bool redirect_devices_ = false;
  bool restricts_host_ = false;
  bool expects_host_tensors_ = false;
  bool inside_node_ = false;
  std::optional<InnerCalls> inner_calls_;
  std::int64_t num_calls_ = 0;
  std::int64_t num_inner_calls_ = 0;
  std::exception_ptr failure_;
  std::function<std::string()> scope_;
  std::function<std::vector<std::string>()> calls_;
  HeldArguments held_;
  std::unordered_map<const at::TensorImpl*, Tracked> tracked_;
  /// Values by storage, oldest first: autograd hands saved tensors out as new
  /// objects, which are recognised by storage and shape.
  std::unordered_map<StorageId, std::vector<ValueId>> values_in_;
  /// Storages that were made before the recording, kept alive so that their
  /// addresses stay theirs.
  std::unordered_map<const c10::StorageImpl*,
                     std::pair<c10::Storage, StorageId>>
      foreign_;
  std::unordered_map<std::string, int> names_;
  std::vector<bool> living_;
  std::vector<std::string> fallbacks_;
  std::vector<std::string> decided_by_data_;
  std::vector<std::string> made_on_host_;
};

/// While it lives, ATen calls are not recorded and storages get `role`.
class UnrecordedScope {
 public:
  explicit UnrecordedScope(TensorRole role);
  ~UnrecordedScope();
  UnrecordedScope(const UnrecordedScope&) = delete;
  UnrecordedScope& operator=(const UnrecordedScope&) = delete;

 private:
  c10::impl::ExcludeDispatchKeyGuard off_;
  Recorder* recorder_;
  TensorRole previous_ = TensorRole::kParameter;
};

/// While it lives, a trace sees neither ATen calls nor storages: for arithmetic
/// that the network does not do. No tensor of the trace may die meanwhile.
class UntracedScope {
 public:
  UntracedScope();
  UntracedScope(const UntracedScope&) = delete;
  UntracedScope& operator=(const UntracedScope&) = delete;

 private:
  c10::impl::ExcludeDispatchKeyGuard off_;
  UnlistenedScope unlistened_;
};

/// While it lives, recorded calls keep the devices that they name: for code of
/// LibTorch that fills on the host what it makes.
class NamedDeviceScope {
 public:
  NamedDeviceScope();
  ~NamedDeviceScope();
  NamedDeviceScope(const NamedDeviceScope&) = delete;
  NamedDeviceScope& operator=(const NamedDeviceScope&) = delete;

 private:
  Recorder* recorder_;
  bool redirected_ = false;
};

}  // namespace foretell
