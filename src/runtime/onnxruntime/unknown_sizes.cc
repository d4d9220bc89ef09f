#include <algorithm>
#include <string_view>
#include <vector>

#include "src/runtime/onnxruntime/draft.h"

// What a session knows of shapes before it runs: sizes that the file gives as
// numbers, and names such as "batch", of which equal ones are equal sizes. A
// Reshape or Expand to sizes that are computed from a name loses it (ONNX
// Runtime infers no symbols from shapes; core/graph/graph.cc), and so do all
// results behind. With overrides of the names, or without names, sizes are
// numbers, which level "basic" computes ahead, and nothing is lost.

namespace foretell::runtime::ort {
namespace {

constexpr std::string_view kSized[] = {"view", "reshape", "expand",
                                       "expand_copy", "reshape_copy"};

}  // namespace

std::vector<bool> UnknownSizes(const Draft& draft) {
  std::vector<bool> unknown(draft.tensors.size(), false);
  if (draft.knows_sizes) return unknown;
  for (const DraftNode& node : draft.nodes) {
    const bool is_unknown =
        std::ranges::count(kSized, node.target) > 0 ||
        std::ranges::any_of(node.inputs, [&unknown](TensorId id) {
          return static_cast<bool>(unknown[IndexOf(id)]);
        });
    for (const TensorId id : node.outputs) unknown[IndexOf(id)] = is_unknown;
  }
  return unknown;
}

}  // namespace foretell::runtime::ort
