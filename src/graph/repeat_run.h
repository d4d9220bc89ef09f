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

/// `graph` with the last run `times` more, behind it: what a batch of gradient
/// accumulation is after the second one. A further run stands to the one before
/// it as the last to the previous one: it reads the same sources, and ends what
/// that left alive. Ids of storages stay.
///
/// Empty where the two runs differ, or leave more alive each time. Takes time
/// and memory in proportion to the result.
std::optional<OperatorGraph> RepeatRun(const OperatorGraph& graph,
                                       const RepeatedRun& run, int times);

}  // namespace foretell
