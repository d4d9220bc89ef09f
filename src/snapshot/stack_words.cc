#include "src/snapshot/stack_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace foretell::snapshot {
namespace {

/// Functions of PyTorch 2.13 in which memory is allocated for a library:
/// aten/src/ATen/cuda/CublasHandlePool.cpp and aten/src/ATen/native/cudnn/
/// Conv_v7.cpp and Conv_v8.cpp, whose results are made by their callers.
constexpr std::array kWorkspaceFunctions = {
    std::string_view("getCurrentCUDABlasHandle"),
    std::string_view("getCUDABlasLtWorkspace"),
    std::string_view("getNewWorkspace"),
    std::string_view("raw_cudnn_convolution"),
};

/// What stands in `text` between `begin` and "::"; empty if it has no `begin`.
std::string_view Between(std::string_view text, std::string_view begin) {
  const std::size_t start = text.find(begin);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + begin.size());
  return text.substr(0, text.find("::"));
}

std::string_view FileName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view OriginName(Origin origin) {
  constexpr std::array<std::string_view, kNumOrigins> kNames = {
      "forward", "backward", "optimizer", "elsewhere", "unknown"};
  return kNames[static_cast<std::size_t>(origin)];
}

StackWords::StackWords(const MemorySnapshot& snapshot) : snapshot_(snapshot) {
  for (const Frame& frame : snapshot.frames) {
    words_.push_back(
        WordsOf(snapshot.texts[frame.file], snapshot.texts[frame.function]));
  }
  has_frames_ = std::ranges::any_of(
      snapshot.stacks, [](const Stack& stack) { return !stack.empty(); });
}

StackWords::Words StackWords::WordsOf(std::string_view file,
                                      std::string_view function) {
  Words words;
  words.is_python = file.ends_with(".py") || file.starts_with('<');
  words.is_torch = Has(file, "/torch/");
  if (!words.is_python) {
    words.is_workspace = std::ranges::any_of(
        kWorkspaceFunctions,
        [&](std::string_view name) { return Has(function, name); });
    words.operator_name = Between(function, "at::_ops::");
    if (words.operator_name.empty()) {
      words.operator_name = Between(function, "torch::autograd::generated::");
    }
    const bool is_engine =
        Has(function, "torch::autograd::Engine::") ||
        Has(function, "torch::autograd::python::PythonEngine");
    if (is_engine) words.mark = Mark::kBackward;
    return words;
  }
  if (function == "step" && Has(file, "optim")) {
    words.mark = Mark::kOptimizer;
  } else if (function == "backward" || function == "_engine_run_backward" ||
             function == "_make_grads") {
    words.mark = Mark::kBackward;
  } else if (function == "forward" || function == "_call_impl") {
    words.mark = Mark::kForward;
  }
  return words;
}

Origin StackWords::OriginOf(StackId stack) const {
  if (stack == kNoStack) return Origin::kUnknown;
  const Stack& frames = snapshot_.stacks[static_cast<std::size_t>(stack)];
  if (frames.empty()) {
    return has_frames_ ? Origin::kBackward : Origin::kUnknown;
  }
  bool in_forward = false;
  for (const std::uint32_t frame : frames) {
    const Mark mark = words_[frame].mark;
    if (mark == Mark::kBackward) return Origin::kBackward;
    if (mark == Mark::kOptimizer && !in_forward) return Origin::kOptimizer;
    in_forward |= mark == Mark::kForward;
  }
  return in_forward ? Origin::kForward : Origin::kElsewhere;
}

/// The lower, the better it tells where an allocation was made.
std::size_t StackWords::RankOf(std::uint32_t frame, Origin origin) const {
  const Words& words = words_[frame];
  const bool is_forward =
      words.mark == Mark::kForward &&
      snapshot_.texts[snapshot_.frames[frame].function] == "forward";
  if (is_forward && !words.is_torch) return 0;
  if (is_forward) return 1;
  return words.is_torch && origin != Origin::kOptimizer ? 3 : 2;
}

std::string StackWords::PlaceOf(StackId stack) const {
  if (stack == kNoStack) return "";
  const Origin origin = OriginOf(stack);
  const Frame* best = nullptr;
  std::size_t best_rank = 0;
  std::string_view operator_name;
  for (const std::uint32_t frame :
       snapshot_.stacks[static_cast<std::size_t>(stack)]) {
    const Words& words = words_[frame];
    if (!words.operator_name.empty()) operator_name = words.operator_name;
    if (!words.is_python) continue;
    const std::size_t rank = RankOf(frame, origin);
    if (best != nullptr && rank >= best_rank) continue;
    best = &snapshot_.frames[frame];
    best_rank = rank;
  }
  std::string place;
  if (best != nullptr) {
    place = fmt::format("{}:{} {}", FileName(snapshot_.texts[best->file]),
                        best->line, snapshot_.texts[best->function]);
  }
  if (operator_name.empty()) return place;
  return place.empty() ? std::string(operator_name)
                       : fmt::format("{} ({})", place, operator_name);
}

bool StackWords::IsWorkspace(StackId stack) const {
  if (stack == kNoStack) return false;
  return std::ranges::any_of(
      snapshot_.stacks[static_cast<std::size_t>(stack)],
      [&](std::uint32_t frame) { return words_[frame].is_workspace; });
}

}  // namespace foretell::snapshot
