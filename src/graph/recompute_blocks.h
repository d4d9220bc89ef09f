#pragma once

#include <string>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Stands for "the blocks that save most" in calls of `RecomputeBlocks`.
inline constexpr std::string_view kAutomaticBlocks = "auto";

/// The training step of `graph` with activation checkpointing, as
/// torch.utils.checkpoint(use_reentrant=False) does it around each block: what
/// a block saves for its backward pass dies within its forward pass, what it
/// was called with lives until its backward pass is over, and its operators run
/// again, in Phase::kBackward, before the first that reads what is gone; those
/// after the last one whose result is needed do not.
///
/// A block is a run of operators in one module. `blocks` is the path of such
/// modules from the network's root with "*" for any one name in it, "blocks.*"
/// or "model.layers.*"; "auto": modules with a number in their path, at that of
/// the first three numbers where the live bytes come out lowest.
///
/// Nodes before `first` are those of an earlier step, of which the result has
/// the memory events alone. Throws Error(kInvalidArgument) where no block has
/// anything to compute again, with the paths that exist.
OperatorGraph RecomputeBlocks(const OperatorGraph& graph,
                              const std::string& blocks, NodeId first = 0);

}  // namespace foretell
