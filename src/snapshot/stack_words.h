#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/snapshot/memory_snapshot.h"

namespace foretell::snapshot {

/// During what an allocation was made, by its stack.
enum class Origin : std::uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kElsewhere,  ///< Has a stack, but none of the above is in it.
  kUnknown,    ///< No stack was recorded.
};
inline constexpr int kNumOrigins = static_cast<int>(Origin::kUnknown) + 1;
/// "forward", "backward", "optimizer", "elsewhere", "unknown".
std::string_view OriginName(Origin origin);

/// What the stacks of a snapshot say, which must outlive it.
///
/// Autograd runs the backward pass of a GPU in a thread of its own: its stacks
/// have the engine's frames in C++, and those of Python only where it calls
/// back into it; with frames of Python alone they are empty
/// (torch/csrc/profiler/combined_traceback.cpp). Recomputed modules belong to
/// the backward pass, a closure of `step` to the pass that it runs.
class StackWords {
 public:
  explicit StackWords(const MemorySnapshot& snapshot);

  Origin OriginOf(StackId stack) const;
  /// The line of the program that allocated, and its operator if frames of C++
  /// were recorded: "model.py:12 forward (linear)". Prefers `forward` of
  /// modules, and then what is not part of torch. Empty without frames.
  std::string PlaceOf(StackId stack) const;
  /// True if a frame of C++ shows a workspace of cuBLAS or cuDNN.
  bool IsWorkspace(StackId stack) const;

 private:
  /// What a frame shows.
  enum class Mark : std::uint8_t { kNone, kForward, kBackward, kOptimizer };
  struct Words {
    Mark mark = Mark::kNone;
    bool is_python = false;
    bool is_torch = false;  ///< Part of the package torch.
    bool is_workspace = false;
    std::string_view operator_name = {};
  };
  static Words WordsOf(std::string_view file, std::string_view function);
  std::size_t RankOf(std::uint32_t frame, Origin origin) const;

  const MemorySnapshot& snapshot_;
  std::vector<Words> words_;  ///< By frame.
  bool has_frames_ = false;   ///< Some stack is not empty.
};

}  // namespace foretell::snapshot
