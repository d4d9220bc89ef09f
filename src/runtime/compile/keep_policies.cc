#include "src/runtime/compile/keep_policies.h"

#include <algorithm>

#include "src/graph/index_of.h"

// As tag_activation_checkpoint (torch/_higher_order_ops/wrap.py) tags operators
// and cleanup_recompute_tags (torch/_functorch/partitioners.py) what one block
// hands to a later one, PyTorch 2.13.

namespace foretell::runtime {
namespace {

std::int32_t RunOf(const BlockRuns& runs, const JointNode& node) {
  return node.node == kNone || !node.in_forward
             ? kNone
             : runs.run_of[IndexOf(node.node)];
}

/// Another checkpointed block computes something of it.
bool IsReadByLaterBlock(const BlockRuns& runs, const JointGraph& joint,
                        const JointNode& node) {
  return std::ranges::any_of(node.users, [&](std::int32_t user) {
    const JointNode& reader = joint.nodes[IndexOf(user)];
    return reader.policy == KeepPolicy::kRecompute &&
           RunOf(runs, reader) > RunOf(runs, node);
  });
}

}  // namespace

void SetKeepPolicies(const BlockRuns& runs, JointGraph& joint) {
  for (JointNode& node : joint.nodes) {
    if (RunOf(runs, node) == kNone) continue;
    node.policy = runs.is_kept[IndexOf(node.node)] ? KeepPolicy::kKeep
                                                   : KeepPolicy::kRecompute;
  }
  // Users come later, so none of them has changed when it is asked.
  for (JointNode& node : joint.nodes) {
    if (node.policy == KeepPolicy::kRecompute &&
        IsReadByLaterBlock(runs, joint, node)) {
      node.policy = KeepPolicy::kKeep;
    }
  }
}

}  // namespace foretell::runtime
