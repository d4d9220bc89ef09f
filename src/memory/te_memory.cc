#include "src/memory/te_memory.h"

#include <algorithm>
#include <string_view>

#include "src/core/units.h"
#include "src/device/compute_capability.h"
#include "src/graph/attributes.h"

namespace foretell::memory {
namespace {

/// get_cublas_workspace_size_bytes.
constexpr std::int64_t kTeWorkspace = 4 * kMiB;
constexpr std::int64_t kTeWorkspaceSinceHopper = 32 * kMiB + 1024;

/// Whether products of floats of 8 bits with a scale per tensor take operands
/// by rows and by columns; else both lie by rows, as copies. Blackwell of data
/// centers does, and whatever has a capability of 13.0 or more
/// (nvte_is_non_tn_fp8_gemm_supported).
bool TakesAnyLayout(int compute_capability) {
  constexpr int kAfterGeForceBlackwell = 130;
  return (compute_capability >= device::kBlackwellData &&
          compute_capability < device::kGeForceBlackwell) ||
         compute_capability >= kAfterGeForceBlackwell;
}

/// Quantizes with a scale per tensor, by rows and by columns.
bool CopiesTransposed(const Node& node) {
  if (node.target != "transformer_engine::quantize") return false;
  const std::string_view format = TextOf(node, "format");
  return (format == "e4m3" || format == "e5m2") && FlagOf(node, "columnwise");
}

}  // namespace

TeMemory TeMemoryOf(const OperatorGraph& graph, const DeviceSpec& device) {
  TeMemory memory;
  const auto product = std::ranges::find(
      graph.nodes(), "transformer_engine::gemm", &Node::target);
  if (product == graph.nodes().end()) return memory;
  memory.first_product = static_cast<NodeId>(product - graph.nodes().begin());
  memory.workspace_bytes = device.compute_capability >= device::kHopper
                               ? kTeWorkspaceSinceHopper
                               : kTeWorkspace;
  if (!TakesAnyLayout(device.compute_capability)) return memory;
  for (const Node& node : graph.nodes()) {
    if (!CopiesTransposed(node)) continue;
    memory.needless.insert(graph.value(node.outputs.front()).storage);
  }
  return memory;
}

}  // namespace foretell::memory
