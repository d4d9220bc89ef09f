#include "src/memory/least_memory.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "src/core/units.h"
#include "src/graph/collective.h"
#include "src/memory/caching_allocator.h"
#include "src/memory/link_buffers.h"
#include "src/memory/loop_schedule.h"
#include "src/memory/planned_schedule.h"
#include "src/memory/schedule.h"
#include "src/memory/workspace.h"

// The least memory in which a step runs.
//
// An allocator at its limit gives entirely free segments back before it
// refuses, and PyTorch uses an algorithm without workspace where one does not
// fit, so a step runs in less than it would use. How much less follows from no
// formula: which segments are free at a request depends on how they were cut
// before. So the step is replayed under limits between the live bytes of what
// it must have, below which nothing helps, and the segments of a run without
// limit. Segments are multiples of 2 MiB, hence so are the limits that differ.
// Halving needs a dozen replays.

namespace foretell {
namespace {

using memory::kSegmentGranule;
using Kind = AllocationEvent::Kind;

/// Most bytes live at once in blocks that no run can do without.
std::int64_t NeededPeak(std::span<const AllocationEvent> events) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  bool optional = false;
  for (const AllocationEvent& event : events) {
    if (event.place == AllocationPlace::kPlan) continue;
    const bool allocates = event.kind == Kind::kAllocate;
    // The event after an optional request frees it.
    const bool counts = !optional && !event.optional;
    optional = allocates && event.optional;
    if (!counts) continue;
    const std::int64_t bytes = memory::BlockBytes(event.bytes);
    live += allocates ? bytes : -bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

/// The most segments that the events hold at once where `limit_bytes` are left
/// for them; empty where one is out of memory.
std::optional<std::int64_t> ReservedWithin(
    std::span<const AllocationEvent> events, CachingAllocatorConfig config,
    std::int64_t limit_bytes) {
  config.device_limit_bytes = std::min(config.device_limit_bytes, limit_bytes);
  const AllocatorReplay replay = SimulateCachingAllocator(events, config);
  if (replay.out_of_memory) return std::nullopt;
  return replay.peak_reserved;
}

/// What the driver holds for streams besides the one that computes, in MiB.
/// Measured: five networks on an H200 (CUDA 13) held 70 to 72 MiB more outside
/// of the allocator under reduce-overhead, which records CUDA graphs on a
/// stream of their own, than under torch.compile's default, in inference and
/// training alike (datasets/labels/h200-sxm-141gb/compile.jsonl.gz); 50 runs
/// of FSDP 1 and 2, quantized or not, on an H100 and that H200 held 70 MiB more
/// than those on one GPU, under DDP and under ZeRO-1 (finetuning.jsonl.gz).
constexpr double kFurtherStreamsMib = 70;

bool ShardsOnFurtherStreams(const OperatorGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return !IsOfHost(node) && memory::StreamOf(node) != Stream::kCompute;
  });
}

bool ReplaysGraphs(const PassSequence& passes) {
  return std::ranges::any_of(passes.list, [](const RunPass& pass) {
    return pass.graph->info().runtime.cuda_graphs;
  });
}

}  // namespace

double memory::CublasHandlesMib(const PassSequence& passes,
                                const MemoryOptions& options) {
  const double each = options.context.cublas_handle_mib;
  if (each <= 0) return 0;
  int handles = 0;
  for (const RunPass& pass : passes.list) {
    // A session of ONNX Runtime has a handle whatever it runs.
    handles = std::max({handles, RunsInOnnxRuntime(*pass.graph) ? 1 : 0,
                        CountCublasHandles(*pass.graph, options.torch)});
  }
  return each * handles;
}

std::int64_t memory::ContextBytes(const PassSequence& passes,
                                  const MemoryOptions& options) {
  const bool loads_cudnn =
      std::ranges::any_of(passes.list, [](const RunPass& pass) {
        return std::ranges::any_of(pass.graph->nodes(), memory::UsesCudnn);
      });
  const bool has_streams =
      ReplaysGraphs(passes) ||
      std::ranges::any_of(passes.list, [](const RunPass& pass) {
        return ShardsOnFurtherStreams(*pass.graph);
      });
  const double mib = options.context.ContextMib(options.device) -
                     (loads_cudnn ? 0 : options.context.cudnn_mib) +
                     (has_streams ? kFurtherStreamsMib : 0) +
                     CublasHandlesMib(passes, options);
  return std::llround(std::max(mib, 0.0) * static_cast<double>(kMiB));
}

bool FitsInMemory(const PassSequence& passes, const MemoryOptions& options,
                  std::int64_t limit_bytes) {
  return MemoryWithin(passes, options, limit_bytes).has_value();
}

std::optional<std::int64_t> MemoryWithin(const PassSequence& passes,
                                         const MemoryOptions& options,
                                         std::int64_t limit_bytes) {
  const std::int64_t outside =
      memory::ContextBytes(passes, options) +
      memory::LinkBufferBytes(*passes.list.front().graph, options.device);
  if (outside > limit_bytes) return std::nullopt;
  const std::optional<std::int64_t> reserved = ReservedWithin(
      memory::AllocationsOf(memory::MakeSchedule(passes, options)),
      memory::AllocatorOf(passes, options), limit_bytes - outside);
  if (!reserved) return std::nullopt;
  return outside + *reserved;
}

std::int64_t LeastMemory(const PassSequence& passes,
                         const MemoryOptions& options,
                         const MemoryBreakdown& simulated) {
  if (simulated.shortage) return simulated.total;
  const std::vector<AllocationEvent> events =
      memory::AllocationsOf(memory::MakeSchedule(passes, options));
  const CachingAllocatorConfig config = memory::AllocatorOf(passes, options);
  std::int64_t good = simulated.reserved_peak / kSegmentGranule;
  std::int64_t bad = (NeededPeak(events) - 1) / kSegmentGranule;
  while (good - bad > 1) {
    const std::int64_t middle = bad + (good - bad) / 2;
    const bool runs =
        ReservedWithin(events, config, middle * kSegmentGranule).has_value();
    (runs ? good : bad) = middle;
  }
  return simulated.context + simulated.link_buffers + good * kSegmentGranule;
}

}  // namespace foretell
