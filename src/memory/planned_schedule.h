#pragma once

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "foretell/memory.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// True if ONNX Runtime runs the nodes of `graph`.
inline bool RunsInOnnxRuntime(const OperatorGraph& graph) {
  return graph.info().runtime.runtime == Runtime::kOnnxRuntime;
}

/// The allocator that serves `passes`: that of `options`, or ONNX Runtime's
/// arena with its limit.
CachingAllocatorConfig AllocatorOf(const PassSequence& passes,
                                   const MemoryOptions& options);

/// Size of the one block in which ONNX Runtime lays out the tensors of a pass,
/// from their allocations and frees in turn (MemPatternPlanner).
class PassPlan {
 public:
  /// Requires that `id` is not live.
  void Allocate(std::int64_t id, std::int64_t bytes);
  void Free(std::int64_t id);
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Tensor {
    std::int64_t id = 0;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  std::list<Tensor> live_;  ///< By offset.
  std::int64_t bytes_ = 0;
};

/// Puts the events of a process in ONNX Runtime where they belong: from the
/// second pass with the same shapes on, tensors that a pass makes and frees go
/// into one block that lives as long as it does.
void PlanPasses(std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
