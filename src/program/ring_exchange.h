#pragma once

#include <ATen/core/Tensor.h>

#include "foretell/parallel.h"

namespace foretell {

/// How the first of `spec.gpus` GPUs passes a buffer around while it computes,
/// as the rotaters of torch.distributed.tensor.experimental do (PyTorch 2.13,
/// _context_parallel/_attention.py). Exchanges are recorded as operators of
/// src/graph/collective.h.
class RingExchange {
 public:
  /// `spec` is of kContext and outlives the exchange. `rotates`: the buffer
  /// goes to the next GPU in each round, instead of to all GPUs in the first.
  RingExchange(const ParallelSpec& spec, bool rotates);

  /// Sends `buffer`, of one dimension, which lives until Next().
  void Send(const at::Tensor& buffer);
  /// Waits for what another GPU sent; as large as what this one did. Requires
  /// Send.
  at::Tensor Next();

 private:
  const ParallelSpec& spec_;
  bool rotates_;
  at::Tensor sent_;      ///< Undefined: no exchange is on its way.
  at::Tensor received_;  ///< Of the previous GPU, or of all.
};

}  // namespace foretell
