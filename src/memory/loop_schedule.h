#pragma once

#include <cstddef>
#include <vector>

#include "foretell/memory.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// How many passes MakeSchedule runs: the sequence twice if it is one pass,
/// else often enough that free blocks of all sizes are there.
std::size_t NumPasses(const PassSequence& passes);

/// The first pass that counts: the last run of the sequence begins there. What
/// came before is the warm-up.
std::size_t FirstCounted(const PassSequence& passes);

/// The events of a process from its start: standing memory, then NumPasses
/// passes (MakeStepSchedule), which repeat the sequence.
///
/// The first step of a network that trains allocates optimizer states before
/// the first operator of the optimizer. cuBLAS's workspaces stay from their
/// first use. What a pass leaves is freed where the next one of the network
/// frees such memory, else before that pass begins.
///
/// Passes of recorded CUDA graphs allocate in their pool (Stream::kRecord)
/// once. That first run is the warm-up of torch/_inductor/cudagraph_trees.py;
/// the recording finds its blocks again, and replays ask for nothing, as
/// PyTorch counts them. Measured on five training steps on an H200, the
/// recording took no more in three, 12 and 242 MiB of 3.5 to 5 GiB in two
/// (datasets/labels/h200-sxm-141gb/compile.jsonl.gz).
///
/// A training graph's own record of a first step has no operators, hence none
/// of their workspaces; which segments a process holds depends on them, as on
/// cuBLAS's workspace, which the second step finds there. Further steps of one
/// graph change nothing: all from the second are identical.
std::vector<ScheduledEvent> MakeSchedule(const PassSequence& passes,
                                         const MemoryOptions& options);

}  // namespace foretell::memory
