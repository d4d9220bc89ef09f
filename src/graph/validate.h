#pragma once

#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Throws Error(kInvalidArgument) that names `what`, and what it is called
/// where `name` is not empty, when the rank exceeds 64, a size is negative or
/// the bytes exceed 2^62.
void CheckType(const TensorType& type, std::string_view what,
               std::string_view name = {});

/// Checks that no value is marked as an input twice.
void CheckInputs(const OperatorGraph& graph);

/// Checks the events of `graph`: ids in range, nodes in execution order, every
/// storage allocated exactly once and freed at most once, after that.
void CheckEvents(const OperatorGraph& graph);

/// Checks that the MACs of all nodes add up without exceeding int64.
void CheckTotalMacs(const OperatorGraph& graph);

}  // namespace foretell
