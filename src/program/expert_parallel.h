#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "foretell/trace.h"

namespace foretell {

/// Experts that GPUs share, on this thread while it lives, if
/// TrainingLoop::parallel shares them. Scopes do not nest.
class ExpertParallelScope {
 public:
  explicit ExpertParallelScope(const TraceOptions& options);
  ~ExpertParallelScope();
  ExpertParallelScope(const ExpertParallelScope&) = delete;
  ExpertParallelScope& operator=(const ExpertParallelScope&) = delete;

  /// Whether tokens have to be dispatched.
  static bool Shares();
  /// Of `experts` those on one GPU; all if they are not shared. Throws
  /// Error(kInvalidArgument) if GPUs cannot have as many each.
  static std::int64_t ExpertsHere(std::int64_t experts);
  /// The rows that all GPUs send to the experts of this one, in exchange for
  /// `rows` [rows, width], which are sorted by expert; `experts` of all GPUs.
  /// The router is balanced but for ParallelSpec::imbalance. Requires Shares().
  static at::Tensor Dispatch(const at::Tensor& rows, std::int64_t experts);
  /// Sends the results back, of which `rows` are for tokens of this GPU.
  /// Requires Shares().
  static at::Tensor Combine(const at::Tensor& results, std::int64_t rows);

  /// Throws Error(kInvalidArgument) if experts are shared and the network has
  /// none.
  void RequireUse() const;

 private:
  ParallelSpec spec_;
  bool is_used_ = false;
};

}  // namespace foretell
