#pragma once

#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Throws Error(kInvalidArgument) that names `what`, and `name` unless empty,
/// if the rank exceeds 64, a size is negative or the elements exceed 2^56,
/// dimensions of size 0 counted as 1.
void CheckType(const TensorType& type, std::string_view what,
               std::string_view name = {});

/// Throws Error(kInvalidArgument) that names `value` unless it has no strides,
/// or one per dimension, which are non-negative and span at most 2^56 elements,
/// dimensions of size 0 counted as 1.
void CheckStrides(const Value& value);

/// Checks that no value is marked as an input twice.
void CheckInputs(const OperatorGraph& graph);

/// Checks the events of `graph`: ids in range, nodes in execution order, every
/// storage allocated exactly once and freed at most once, after that.
void CheckEvents(const OperatorGraph& graph);

/// Checks that all storages together have at most 2^60 bytes.
void CheckBytes(const OperatorGraph& graph);

/// As CheckBytes for the operands and results of one node, counted with
/// repetition.
void CheckTraffic(const OperatorGraph& graph, const Node& node);

/// Checks that the MACs of all nodes add up to at most 2^62.
void CheckTotalMacs(const OperatorGraph& graph);

}  // namespace foretell
