#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::snapshot {

/// A line of a stack, of Python or C++. Texts are indices of
/// MemorySnapshot::texts, since many frames share them.
struct Frame {
  std::uint32_t file = 0;  ///< As recorded; "??" for C++ without symbols.
  std::uint32_t function = 0;
  std::int64_t line = 0;
};

/// Frames, the innermost first, as indices of MemorySnapshot::frames.
using Stack = std::vector<std::uint32_t>;
/// Index of a stack in MemorySnapshot::stacks.
using StackId = std::int32_t;
inline constexpr StackId kNoStack = -1;  ///< None was recorded.

/// What the allocator did, of those that matter here.
enum class Action : std::uint8_t {
  kAllocate,
  kFreeRequested,  ///< The tensor is gone.
  kFreeCompleted,  ///< So is the last use on another stream.
  kSegmentTaken,   ///< From the device, or mapped into an expandable segment.
  kSegmentGiven,   ///< Back to the device.
  kOutOfMemory,
  kOther,
};

/// An entry of a device's trace. Sizes are those requested.
struct TraceEntry {
  Action action = Action::kOther;
  std::int64_t address = 0;  ///< Of kOutOfMemory: free bytes of the device.
  std::int64_t size = 0;
  StackId stack = kNoStack;
};

/// What a block of a segment is used for.
enum class BlockState : std::uint8_t {
  kAllocated,
  kPending,  ///< Freed, but in use on another stream.
  kFree,
};

/// A part of a segment.
struct Block {
  std::int64_t address = 0;
  std::int64_t size = 0;  ///< Rounded as the allocator does.
  BlockState state = BlockState::kFree;
  StackId stack = kNoStack;
};

/// Memory that the allocator took from the device.
struct Segment {
  std::int64_t device = 0;
  std::int64_t address = 0;
  std::int64_t size = 0;
  std::vector<Block> blocks;
};

/// What torch.cuda.memory._dump_snapshot writes.
struct MemorySnapshot {
  std::vector<std::string> texts;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Segment> segments;
  std::vector<std::vector<TraceEntry>> traces;  ///< By device; may be empty.
};

/// True for a file that is named as a pickle, or begins like one or like a
/// snapshot as JSON.
bool IsSnapshotFile(const std::string& path);

/// Reads the file at `path`: a pickle of torch.cuda.memory._snapshot() or of
/// torch.cuda.memory_snapshot(), or the first as JSON, of PyTorch 2.0 to 2.13
/// (torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot). No code of it runs.
/// Fields that are not needed are not looked at. Throws Error that names the
/// file: as ReadFile and ReadPickle, kCorrupt for a field that is missing or of
/// another kind, with its place, and kUnsupported for more than four million
/// blocks and entries.
MemorySnapshot ReadSnapshot(const std::string& path);

/// As above, of the bytes of a file that `origin` names.
MemorySnapshot ParseSnapshot(std::string_view bytes, const std::string& origin);

}  // namespace foretell::snapshot
