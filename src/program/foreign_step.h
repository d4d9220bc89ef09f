#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "foretell/run.h"

namespace foretell {

struct ForeignRow;

/// True if `tensor` is one of `tensors`.
bool IsOneOf(at::TensorList tensors, const at::Tensor& tensor);

/// An optimizer of bitsandbytes (0.50, optim/optimizer.py and csrc/ops.cu) or
/// torchao (optim/adam.py and subclass_{8,4}bit.py at 0372e5f).
///
/// Each parameter's step is one operator without temporaries: one kernel with
/// bitsandbytes, a compiled function with torchao. The operators compute
/// nothing. bitsandbytes waits for the GPU after every parameter, which a graph
/// does not show.
class ForeignStep {
 public:
  /// Requires HasForeignKernels(kind).
  explicit ForeignStep(Optimizer kind);

  /// Records the update of each parameter by its gradient. The first call makes
  /// the states; those of bitsandbytes are in 32 bits for `tables`, weights of
  /// embeddings, as transformers' Trainer and bitsandbytes' own embeddings have
  /// it, except with kAdamW8bit.
  void Step(at::TensorList parameters, at::TensorList gradients,
            at::TensorList tables);

  /// Bytes of states that lie in unified memory (cudaMallocManaged): no part of
  /// the caching allocator's, and on the GPU only while there is room.
  std::int64_t paged_bytes() const { return paged_bytes_; }

 private:
  using States = std::vector<at::Tensor>;

  /// Whether the parameter's states are codes with a scale for each block.
  bool Quantizes(const at::Tensor& parameter, at::TensorList tables) const;
  States Bitsandbytes(const at::Tensor& parameter, bool quantizes);
  States Torchao(const at::Tensor& parameter, bool quantizes);

  const ForeignRow& row_;
  std::vector<States> states_;  ///< One list per parameter.
  /// The numbers that codes stand for: two for all parameters with
  /// bitsandbytes, one per state with torchao.
  std::vector<at::Tensor> maps_;
  std::int64_t paged_bytes_ = 0;
};

}  // namespace foretell
