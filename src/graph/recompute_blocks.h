#pragma once

#include <functional>
#include <optional>
#include <string>

#include "foretell/graph.h"
#include "src/graph/recompute_spec.h"

namespace foretell {

/// The training step of `graph` with activation checkpointing, as with
/// torch.utils.checkpoint(use_reentrant=False) around each block: tensors that
/// a block saves for its backward pass are freed within its forward pass, its
/// inputs live until its backward pass is over, and its operators, up to the
/// last whose result is needed, run again in Phase::kBackward before the first
/// reader of a freed tensor.
///
/// A block is a run of operators in one module. `blocks` is as ParseRecompute
/// reads it: paths of such modules from the network's root with "*" for any one
/// name, "blocks.*" or "model.layers.*"; "auto": modules with a number in their
/// path, at the one of the first three numbers that minimizes live bytes.
///
/// Nodes before `first` belong to an earlier step; the result keeps only their
/// memory events. Throws Error(kInvalidArgument) with the existing paths if no
/// block has anything to recompute.
OperatorGraph RecomputeBlocks(const OperatorGraph& graph,
                              const std::string& blocks, NodeId first = 0);

/// A step with BlocksOf `spec` and `level` computed again; empty if they have
/// nothing to compute again.
using RewriteBlocks = std::function<std::optional<OperatorGraph>(
    const RecomputeSpec& spec, int level)>;

/// What `rewrite` makes of the step of `graph`, for "auto" at the level of
/// least live bytes. `blocks` and errors are RecomputeBlocks'.
OperatorGraph ChooseBlocks(const OperatorGraph& graph,
                           const std::string& blocks,
                           const RewriteBlocks& rewrite);

}  // namespace foretell
