#pragma once

#include <cstdint>
#include <vector>

#include "src/runtime/compile/joint_graph.h"

namespace foretell::runtime {

/// Tensors of the forward pass that AOTAutograd keeps for the backward pass, by
/// place in `joint`, in order; sources that the backward pass reads are among
/// them. What the backward pass needs and is not kept is computed again.
///
/// `budget`: activation_memory_budget, in [0, 1]; 1 keeps what is cheaper to
/// keep than to compute, 0 only the sources. Between, what saves most
/// arithmetic is kept in that share of the bytes that 1 keeps beyond 0.
std::vector<std::int32_t> SavedTensors(const JointGraph& joint, double budget);

}  // namespace foretell::runtime
