#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace foretell::training {

/// Workers that train one network together. This class is a single worker.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// True if this worker writes files and prints.
  bool IsFirst() const { return rank() == 0; }

  /// Replaces `tensor` (contiguous) by the sum over all workers. All must call
  /// it in the same order with the same shape. Throws Error(kIo) when a worker
  /// is lost or does not arrive in time.
  virtual void SumInPlace(at::Tensor& tensor);
  /// Replaces `tensor` by that of rank 0; errors as SumInPlace.
  virtual void TakeFromFirst(at::Tensor& tensor);

  /// The first worker's `value`; errors as SumInPlace.
  bool AsFirst(bool value);
};

}  // namespace foretell::training
