#pragma once

#include "foretell/graph.h"

namespace foretell::parallel {

/// `graph`, the step of one batch as ShardParameters made it, with gradients of
/// `batches` >= 1 batches added up before the optimizer reads them. Every batch
/// gathers, reduces and scatters; from the second on, what it scattered is
/// added to the shards of the first. With `no_sync` only the last batch reduces
/// and scatters, the sums of whole gradients.
///
/// Throws Error(kUnsupported) as AddBatches.
OperatorGraph AccumulateShards(const OperatorGraph& graph, int batches,
                               bool no_sync = false);

}  // namespace foretell::parallel
