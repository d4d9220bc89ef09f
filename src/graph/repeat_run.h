#pragma once

#include <optional>

#include "foretell/graph.h"

namespace foretell {

/// Batches of gradient accumulation that a graph has before AddBatches: the
/// first makes the gradients, the second ends what the first has left (its
/// results, for one), and every further one is like the third.
inline constexpr int kTracedBatches = 3;

/// Two consecutive runs of the same operators: from `previous` to before
/// `last`, and from `last` to before `end`.
struct RepeatedRun {
  NodeId previous = kNone;
  NodeId last = kNone;
  NodeId end = kNone;
};

/// `graph` with its last run repeated `times` more: a batch of gradient
/// accumulation after the second one. A further run relates to the one before
/// it like the last to the previous one: it reads the same sources, and frees
/// the storages that it left live. Ids of storages do not change.
///
/// Empty if the two runs differ, or live storages grow with each run. Time and
/// memory are linear in the result.
std::optional<OperatorGraph> RepeatRun(const OperatorGraph& graph,
                                       const RepeatedRun& run, int times);

/// `graph`, which has kTracedBatches batches of which `run` has the last two,
/// with `batches` of them. Throws Error(kUnsupported) if batches differ, or
/// have too many operators together.
OperatorGraph AddBatches(const OperatorGraph& graph, const RepeatedRun& run,
                         int batches);

}  // namespace foretell
