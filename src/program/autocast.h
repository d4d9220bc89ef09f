#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "src/program/autocast_rules.h"

namespace foretell {

/// What a region casts to, and what it leaves in that type.
struct AutocastMode {
  at::ScalarType dtype = at::kHalf;  ///< kHalf or kBFloat16.
  bool half_group_norm = false;      ///< Run::half_group_norm.
  bool half_layer_norm = false;      ///< Run::half_layer_norm.
  /// Upsampling keeps the type of its input, as before PyTorch 2.4 (its issue
  /// 121072, of March 2024); else it runs in FP32.
  bool half_upsampling = false;
};

/// `with torch.autocast("cuda", mode.dtype):` on this thread, for the tensors
/// of `device` instead of CUDA's. Of nested regions the innermost counts, with
/// casts of its own.
///
/// Casts are calls of `to`, as in PyTorch: autograd and the recorder see them.
/// Those of f32 leaves that require a gradient and are not views are kept until
/// the region ends.
class AutocastRegion {
 public:
  AutocastRegion(c10::DeviceType device, const AutocastMode& mode);
  ~AutocastRegion();
  AutocastRegion(const AutocastRegion&) = delete;
  AutocastRegion& operator=(const AutocastRegion&) = delete;

  /// Registers with LibTorch, which writes to the table of each operator: in a
  /// process that forks, best before it does. The first region does it, too.
  static void Install();

  /// True while a region of this thread makes one of its casts.
  static bool IsCasting();

  /// Counts `view`, which was made of `parameter` outside of the network, as
  /// the parameter that a layer of the network has. Nothing without a region.
  static void CountAsParameter(const at::Tensor& view,
                               const at::Tensor& parameter);

  /// For callers that see calls before autocast does: when a region is about to
  /// change this call, casts its arguments, calls `op` again with them, outside
  /// of autocast, and returns true.
  static bool Intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack& stack);

 private:
  /// Receives every call that no key above autocast's handles.
  static void Fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       torch::jit::Stack* stack);
  AutocastPolicy PolicyOf(const c10::OperatorHandle& op) const;
  void CastAndCall(const c10::OperatorHandle& op, AutocastPolicy policy,
                   torch::jit::Stack& stack);
  /// Casts what `policy` asks for; returns the operator to call.
  c10::OperatorHandle Prepare(const c10::OperatorHandle& op,
                              AutocastPolicy policy, torch::jit::Stack& stack);
  bool IsEligible(const at::Tensor& tensor) const;
  bool IsKept(const at::Tensor& tensor) const;
  at::ScalarType WidestOf(const torch::jit::Stack& stack, size_t first) const;
  void CastAll(torch::jit::Stack& stack, size_t first, at::ScalarType to,
               bool cache);
  at::Tensor Cast(const at::Tensor& tensor, at::ScalarType to, bool cache);

  c10::DeviceType device_;
  AutocastMode mode_;
  AutocastRegion* outer_;
  bool is_outer_on_;  ///< False where a pause is around this region.
  /// Casts of parameters, with what keeps their sources' addresses theirs.
  std::unordered_map<const at::TensorImpl*, std::pair<at::Tensor, at::Tensor>>
      casts_;
  std::vector<const at::TensorImpl*> order_;  ///< Of the keys of `casts_`.
  std::unordered_map<const at::TensorImpl*, at::Tensor> counted_;
};

/// `with torch.autocast(…, enabled=False):` on this thread.
class AutocastPause {
 public:
  AutocastPause();
  ~AutocastPause();
  AutocastPause(const AutocastPause&) = delete;
  AutocastPause& operator=(const AutocastPause&) = delete;

 private:
  bool was_on_;
};

}  // namespace foretell
