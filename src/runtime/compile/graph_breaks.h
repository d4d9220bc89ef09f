#pragma once

#include <vector>

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The parts of a step of PyTorch's operators that run one after the other.
struct Regions {
  /// By node: its region, from 0 in the order of the forward pass; kNone for
  /// the optimizer's.
  std::vector<int> of_node;
  std::vector<bool> is_compiled;  ///< By region; false: eager PyTorch runs it.
};

/// Whether all of the forward pass runs before the backward pass, and that
/// before the optimizer: not with accumulated batches.
bool RunsPassByPass(const OperatorGraph& graph);

/// The graph breaks after each call of one of the modules `spec.breaks`. With
/// `spec.only`, each call of one of these modules is compiled alone; one inside
/// of another is a part of it. Paths lead from the network's root, with "*" for
/// any one name; those of `spec.only` may be kAutomaticModules or
/// kLossFunction.
///
/// Throws Error(kInvalidArgument) for a path of which the forward pass runs
/// nothing and for accumulated batches.
Regions FindRegions(const OperatorGraph& graph, const RuntimeSpec& spec);

}  // namespace foretell::runtime
