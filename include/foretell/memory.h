#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell {

/// No limit, for the byte limits of CachingAllocatorConfig.
inline constexpr std::int64_t kUnlimitedBytes =
    std::numeric_limits<std::int64_t>::max();

/// The CUDA streams on which a step allocates. The allocator gives a cached
/// block only to the stream that its segment was taken for. FSDP gathers
/// parameters and scatters gradients on streams of their own, and FSDP 1
/// converts shards on another. kRecord: the stream on which CUDA graphs are
/// recorded, with their private pool, of which no segment is given back.
enum class Stream : std::uint8_t {
  kCompute,
  kConvert,
  kGather,
  kScatter,
  kRecord
};
inline constexpr int kNumStreams = static_cast<int>(Stream::kRecord) + 1;

/// Where ONNX Runtime puts an allocation; every other allocator ignores it.
enum class AllocationPlace : std::uint8_t {
  kPool,     ///< In the arena's regions.
  kPlan,     ///< The block of a pass's planned tensors; not counted as live.
  kPlanned,  ///< In that block.
};

/// One request to a caching allocator, or the release of an earlier one.
struct AllocationEvent {
  /// kDrop: no longer allocated, but its block serves nothing before the kFree
  /// that follows, since another stream still reads it (record_stream).
  enum class Kind : std::uint8_t { kAllocate, kFree, kDrop };
  Kind kind = Kind::kAllocate;
  /// Names the allocation; may be used again once it has been freed.
  std::int64_t id = 0;
  /// Requested bytes, >= 0; ignored by others. Zero bytes occupy nothing.
  std::int64_t bytes = 0;
  /// A kAllocate that is dropped together with its kFree if it does not fit,
  /// for cuDNN's workspaces: PyTorch then uses another algorithm.
  bool optional = false;
  Stream stream = Stream::kCompute;                ///< Of kAllocate.
  AllocationPlace place = AllocationPlace::kPool;  ///< Of kAllocate.
};

/// Settings of ONNX Runtime's arena.
struct BfcArenaConfig {
  bool exact = false;  ///< RuntimeSpec::exact_arena.
};

/// Settings of PyTorch's CUDA caching allocator (PYTORCH_ALLOC_CONF).
struct CachingAllocatorConfig {
  /// Blocks of at least this size are never split (`max_split_size_mb`).
  std::int64_t max_split_size_bytes = kUnlimitedBytes;
  /// A request of at least max_split_size_bytes uses an unsplit block only if
  /// it wastes less than this (`max_non_split_rounding_mb`).
  std::int64_t max_non_split_rounding_bytes = 20 * 1024 * 1024;
  /// Device memory for segments. A request beyond it first releases all
  /// entirely free segments; if that is not enough, the replay runs out of
  /// memory, unless the request is optional.
  std::int64_t device_limit_bytes = kUnlimitedBytes;
  /// One segment per stream and pool grows by pages, of 2 MiB for requests up
  /// to 1 MiB and of 20 MiB for larger ones (`expandable_segments:True`); the
  /// limits on splitting are then ignored.
  bool expandable_segments = false;
  /// ONNX Runtime's arena is replayed instead; the settings above, except for
  /// the device's memory, are then ignored. SimulateMemory sets it for graphs
  /// of that runtime.
  std::optional<BfcArenaConfig> bfc_arena = {};
};

/// What an allocator holds at one moment, in bytes.
struct AllocatorState {
  std::int64_t requested = 0;  ///< Sum of the live requests, without rounding.
  /// Sum of the blocks that serve them (`memory_allocated`). Equals the
  /// "active" bytes: no block waits for another stream (`record_stream`).
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;  ///< Segments taken from the device.
  bool operator==(const AllocatorState&) const = default;
};

/// A request that did not fit CachingAllocatorConfig::device_limit_bytes.
struct OutOfMemory {
  std::size_t event = 0;             ///< Index of the request.
  std::int64_t requested_bytes = 0;  ///< Its size.
  AllocatorState before;             ///< After cached segments were released.
};

/// Result of SimulateCachingAllocator.
struct AllocatorReplay {
  std::int64_t peak_requested = 0;
  std::int64_t peak_allocated = 0;
  std::int64_t peak_reserved = 0;
  /// First event after which `allocated` was at its peak; 0 without events.
  std::size_t peak_event = 0;
  std::vector<AllocatorState> timeline;  ///< State after each event done.
  std::vector<std::size_t>
      refused;  ///< Optional requests that were dropped. Set if the replay
                ///< stopped early; `timeline` then ends before the event.
  std::optional<OutOfMemory> out_of_memory;
};

/// Replays `events` through the rules of PyTorch's CUDA caching allocator.
///
/// Requests round up to 512 B; up to 1 MiB they share 2 MiB segments, below
/// 10 MiB they use 20 MiB segments, above that segments rounded to 2 MiB
/// (c10/cuda/CUDACachingAllocator.cpp, LibTorch 2.13). A stream reuses its own
/// segments only.
///
/// Throws Error(kInvalidArgument) with the event's index for a negative size,
/// an allocation of a live id, a free of one that is not live, and more than
/// 2^60 bytes in total. Cost: O(n log n).
AllocatorReplay SimulateCachingAllocator(
    std::span<const AllocationEvent> events,
    const CachingAllocatorConfig& config = {});

/// A pass that a process runs: one of inference, or a step of training.
struct RunPass {
  const OperatorGraph* graph = nullptr;  ///< Not null.
  int network = 0;                       ///< From 0; whose pass it is.
};

/// What a process runs over one allocator: passes in this order, in a loop. Not
/// empty; the graphs must outlive it.
///
/// Parameters, buffers and optimizer states of every network stay; passes of
/// one network share those of its largest graph. A pass of another graph than
/// the network's last one replaces its inputs. What a pass leaves (results,
/// gradients) lives until the network's next pass. An inference pass of a
/// network that also trains is an evaluation: its inputs and results live no
/// longer than it does. A step that GPUs share is the only pass.
struct PassSequence {
  /// One pass, again and again.
  // NOLINTNEXTLINE(google-explicit-constructor): a graph is the usual case.
  PassSequence(const OperatorGraph& graph) : list{{.graph = &graph}} {}
  explicit PassSequence(std::vector<RunPass> passes)
      : list(std::move(passes)) {}

  std::vector<RunPass> list;
};

/// Settings of SimulateMemory in addition to the passes.
struct MemoryOptions {
  DeviceSpec device;
  ContextModel context;
  /// Adds the scratch memory of cuBLAS and cuDNN (docs/memory.md).
  bool with_workspaces = true;
  CachingAllocatorConfig allocator = {};
  /// PyTorch version: some versions do not use cuDNN for convolutions.
  TorchVersion torch = {};
  /// The run's environment is not named: its context, its libraries and its
  /// loop are uncertain, and the interval is wider (docs/memory.md).
  bool guessed_environment = false;
};

/// A storage that is live at the allocated peak.
struct LiveTensor {
  std::string label;  ///< Storage's label or its first tensor.
  /// Type of the first tensor, if there is one.
  std::optional<TensorType> type;
  std::int64_t bytes = 0;
  TensorRole role = TensorRole::kActivation;
  NodeId producer = kNone;  ///< Node that allocated it; kNone before the first.
};

/// Memory during and after a node.
struct NodeMemory {
  std::int64_t peak_allocated = 0;   ///< Highest during the node.
  std::int64_t allocated_after = 0;  ///< Live bytes after it.
  std::int64_t reserved_after = 0;
};

/// Memory of one of several passes, in the last run of the loop.
struct PassMemory {
  std::int64_t allocated_peak = 0;
  std::int64_t reserved_after = 0;
};

/// The request of a run that did not fit.
struct MemoryShortage {
  NodeId node = kNone;  ///< kNone: parameters and inputs do not fit.
  std::int64_t requested_bytes = 0;
  std::int64_t reserved = 0;
};

/// Device memory of a process that runs steps, simulated; all sizes in bytes.
struct MemoryBreakdown {
  /// context + link_buffers + reserved_peak, as nvidia-smi would show it.
  std::int64_t total = 0;
  /// Range of `total`, from the errors on published peaks: docs/memory.md.
  std::int64_t total_low = 0;
  std::int64_t total_high = 0;

  std::int64_t context = 0;  ///< Property of the process, not of the model.
  /// NCCL's buffers for exchanges with other GPUs, outside of the allocator.
  std::int64_t link_buffers = 0;
  std::int64_t allocated_peak = 0;
  std::int64_t reserved_peak = 0;
  /// Largest sum of live workspaces. Part of reserved_peak.
  std::int64_t workspace_peak = 0;

  /// Live bytes at the allocated peak, by TensorRole. Together with the next
  /// two they add up to allocated_peak.
  std::array<std::int64_t, kNumTensorRoles> at_peak_by_role = {};
  std::int64_t at_peak_workspace = 0;
  std::int64_t at_peak_rounding = 0;  ///< Lost in 512 B units, unsplit blocks.
  /// Pass, of the sequence, and node of its graph during which the peak
  /// occurred.
  std::size_t peak_pass = 0;
  NodeId peak_node = kNone;

  /// At most kMaxLiveTensors, the largest first.
  std::vector<LiveTensor> largest_at_peak;
  std::vector<NodeMemory> timeline;  ///< One per node of the peak pass.
  std::vector<PassMemory> passes;    ///< One per pass of the sequence.
  /// Set when allocator.device_limit_bytes was not enough; every other number
  /// then describes the run up to that request.
  std::optional<MemoryShortage> shortage;

  std::int64_t AtPeak(TensorRole role) const {
    return at_peak_by_role[static_cast<std::size_t>(role)];
  }
  /// Activations of the forward pass, those saved for the backward included.
  std::int64_t ActivationsAtPeak() const {
    return AtPeak(TensorRole::kActivation) + AtPeak(TensorRole::kSaved);
  }
};

/// Length of MemoryBreakdown::largest_at_peak.
inline constexpr std::size_t kMaxLiveTensors = 20;

/// Simulates the memory of the passes: lifetimes, library workspaces, caching
/// allocator, CUDA context. The loop runs until a further run changes little;
/// only the last run counts, except for reserved memory. Throws as
/// SimulateCachingAllocator does.
MemoryBreakdown SimulateMemory(const PassSequence& passes,
                               const MemoryOptions& options);

/// True when the passes run with `limit_bytes` of device memory, context
/// included: cached segments are released before a request is refused, so a run
/// can fit in less than its MemoryBreakdown::total.
bool FitsInMemory(const PassSequence& passes, const MemoryOptions& options,
                  std::int64_t limit_bytes);

/// Bytes that the passes use of `limit_bytes` of device memory, context
/// included; empty if FitsInMemory is false.
std::optional<std::int64_t> MemoryWithin(const PassSequence& passes,
                                         const MemoryOptions& options,
                                         std::int64_t limit_bytes);

/// The least device memory in bytes, context included, with which the passes
/// run if cached segments are released: FitsInMemory accepts it and refuses
/// 2 MiB (the unit of segments) less. `simulated` is the result of
/// SimulateMemory for both; the result is at most its total, and equal to it
/// after a shortage. Found by bisection; a still smaller limit may suffice if a
/// refused workspace moves later segments. Throws as SimulateMemory does.
std::int64_t LeastMemory(const PassSequence& passes,
                         const MemoryOptions& options,
                         const MemoryBreakdown& simulated);

}  // namespace foretell
