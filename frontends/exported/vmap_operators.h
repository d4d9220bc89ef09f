#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <string_view>
#include <vector>

/// Operators of `torch._functorch.predispatch`, as which torch.export writes
/// torch.vmap. They run on LibTorch's own vmap, whose batching rules call the
/// operators that eager code runs.
namespace foretell::exported {

/// Whether `target` ("torch._functorch.predispatch._add_batch_dim") names one.
bool IsVmapOperator(std::string_view target);

/// Runs the operator. Requires IsVmapOperator(target). Throws Error(kCorrupt)
/// for operands of another kind, and outside of the vmap that they belong to.
std::vector<c10::IValue> CallVmapOperator(
    std::string_view target, const std::vector<c10::IValue>& operands);

/// Ends every vmap that began while it lived, also after an error.
class VmapScope {
 public:
  VmapScope();
  ~VmapScope();
  VmapScope(const VmapScope&) = delete;
  VmapScope& operator=(const VmapScope&) = delete;

 private:
  std::size_t depth_;
};

}  // namespace foretell::exported
