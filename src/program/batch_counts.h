#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "foretell/program.h"

namespace foretell {

/// What batch norms count while they are trained, on this thread while it
/// lives: torch.nn.BatchNorm adds 1 to its `num_batches_tracked`, a kernel of
/// its own, before each norm that updates running statistics
/// (torch/nn/modules/batchnorm.py). A file that was made in inference does not
/// say so. Scopes do not nest.
class BatchCounts {
 public:
  /// Of the norms whose `running_mean` and `num_batches_tracked` are both among
  /// the `buffers` of a program.
  explicit BatchCounts(const std::vector<NamedTensor>& buffers);
  ~BatchCounts();
  BatchCounts(const BatchCounts&) = delete;
  BatchCounts& operator=(const BatchCounts&) = delete;

  /// For callers that see calls first, each once: counts before a norm of the
  /// batch's statistics, unless the program did so itself since the last one.
  static void Note(const c10::OperatorHandle& op,
                   const torch::jit::Stack& stack);

 private:
  using Storage = const c10::StorageImpl*;

  void CountBefore(const at::Tensor& running_mean);

  std::unordered_map<Storage, at::Tensor> counts_;  ///< By running mean.
  std::unordered_set<Storage> own_;                 ///< Storages of the counts.
  std::unordered_set<Storage> counted_;  ///< Those raised since their norm.
};

}  // namespace foretell
