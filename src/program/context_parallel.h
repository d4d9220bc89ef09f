#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <vector>

#include "foretell/program.h"
#include "foretell/trace.h"

namespace foretell {

/// The part of `inputs` on one GPU if GPUs share sequences, else all: the
/// second dimension of the first input that can be [batch, tokens] of whole
/// numbers or [batch, tokens, features] is the length, and inputs with that
/// second dimension are divided.
///
/// Throws Error(kInvalidArgument) without such an input, and for a length that
/// GPUs cannot share evenly.
std::vector<BoundInput> OwnTokens(std::vector<BoundInput> inputs,
                                  const ParallelSpec& spec);

/// Runs attention as a ring (ring_attention.h) on this thread while it lives,
/// if TrainingLoop::parallel shares sequences. Scopes do not nest.
class ContextParallelScope {
 public:
  explicit ContextParallelScope(const TraceOptions& options);
  ~ContextParallelScope();
  ContextParallelScope(const ContextParallelScope&) = delete;
  ContextParallelScope& operator=(const ContextParallelScope&) = delete;

  /// For callers that see calls first: runs scaled_dot_product_attention, and
  /// returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

  /// Throws Error(kInvalidArgument) if sequences are shared and no attention
  /// ran.
  void RequireUse() const;

 private:
  ParallelSpec spec_;
  std::optional<at::ScalarType> cast_;  ///< Autocast's type.
  bool is_used_ = false;
};

}  // namespace foretell
