#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>

namespace foretell {

/// Bounds what a trace on meta really computes on the CPU, which is meant to be
/// shape arithmetic and small constants.
class HostWork {
 public:
  /// Largest number of elements that all calls together may read, and their
  /// products multiply.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;
  /// Largest sum of the storages that they make, in bytes. It bounds the time;
  /// what is alive at once is the ledger's business.
  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 31;

  /// To be called before `op` runs on the arguments on top of `stack`. Throws
  /// Error(kUnsupported) with the limit once it is passed.
  void ChargeArguments(const c10::OperatorHandle& op,
                       const torch::jit::Stack& stack);
  /// To be called when the results are on top of `stack`; throws the same.
  void ChargeResults(const c10::OperatorHandle& op,
                     const torch::jit::Stack& stack);

 private:
  std::int64_t elements_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace foretell
