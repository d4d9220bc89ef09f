#pragma once

#include <optional>

#include "foretell/graph.h"

namespace foretell {

/// Two runs of the same operators, one behind the other: from `previous` to
/// before `last`, and from `last` to before `end`.
struct RepeatedRun {
  NodeId previous = kNone;
  NodeId last = kNone;
  NodeId end = kNone;
};

/// `graph` with its last run repeated `times` more: what a batch of gradient
/// accumulation is after the second one. A further run relates to the one
/// before it as the last to the previous one: it reads the same sources, and
/// frees what that left alive. Ids of storages do not change.
///
/// Empty if the two runs differ, or leave more alive each time. Costs time and
/// memory in proportion to the result.
std::optional<OperatorGraph> RepeatRun(const OperatorGraph& graph,
                                       const RepeatedRun& run, int times);

}  // namespace foretell
