#include "src/snapshot/stack_words.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace foretell::snapshot {
namespace {

/// Files and functions, the innermost first.
using Lines = std::vector<std::pair<std::string, std::string>>;

/// A snapshot whose stack 0 has `lines`, and whose stack 1 is empty.
MemorySnapshot WithStack(const Lines& lines) {
  MemorySnapshot snapshot;
  snapshot.stacks.resize(2);
  for (const auto& [file, function] : lines) {
    const auto text = static_cast<std::uint32_t>(snapshot.texts.size());
    snapshot.stacks[0].push_back(
        static_cast<std::uint32_t>(snapshot.frames.size()));
    snapshot.frames.push_back({text, text + 1, 7});
    snapshot.texts.push_back(file);
    snapshot.texts.push_back(function);
  }
  return snapshot;
}

Origin OriginOf(const Lines& lines) {
  const MemorySnapshot snapshot = WithStack(lines);
  return StackWords(snapshot).OriginOf(0);
}

std::string PlaceOf(const Lines& lines) {
  const MemorySnapshot snapshot = WithStack(lines);
  return StackWords(snapshot).PlaceOf(0);
}

const std::pair<std::string, std::string> kForward = {"/my/net.py", "forward"};
const std::pair<std::string, std::string> kCall = {
    "/venv/torch/nn/modules/module.py", "_call_impl"};
const std::pair<std::string, std::string> kLinear = {
    "/venv/torch/nn/modules/linear.py", "forward"};
const std::pair<std::string, std::string> kStep = {"/venv/torch/optim/adamw.py",
                                                   "step"};
const std::pair<std::string, std::string> kMain = {"/my/train.py", "<module>"};
const std::pair<std::string, std::string> kEngine = {
    "??", "torch::autograd::Engine::evaluate_function(GraphTask&)"};

TEST(StackWords, TellThePassOfAnAllocation) {
  EXPECT_EQ(OriginOf({kLinear, kCall, kForward, kMain}), Origin::kForward);
  EXPECT_EQ(OriginOf({kStep, kMain}), Origin::kOptimizer);
  EXPECT_EQ(OriginOf({{"??", "at::_ops::mm::call(x)"}, kEngine}),
            Origin::kBackward);
  EXPECT_EQ(OriginOf({{"/venv/torch/autograd/graph.py", "_engine_run_backward"},
                      kMain}),
            Origin::kBackward);
  EXPECT_EQ(OriginOf({kMain}), Origin::kElsewhere);
}

TEST(StackWords, TellPassesInsideOthers) {
  // Recomputed, a closure of the optimizer, an optimizer in the backward pass.
  EXPECT_EQ(OriginOf({kForward, kCall, kEngine}), Origin::kBackward);
  EXPECT_EQ(OriginOf({kForward, kCall, kMain, kStep, kMain}), Origin::kForward);
  EXPECT_EQ(OriginOf({kStep, {"/my/train.py", "hook"}, kEngine}),
            Origin::kOptimizer);
}

TEST(StackWords, TakeAnEmptyStackForAutogradsThread) {
  const MemorySnapshot with_others = WithStack({kMain});
  EXPECT_EQ(StackWords(with_others).OriginOf(1), Origin::kBackward);
  const MemorySnapshot alone = WithStack({});
  EXPECT_EQ(StackWords(alone).OriginOf(1), Origin::kUnknown);
  EXPECT_EQ(StackWords(alone).OriginOf(kNoStack), Origin::kUnknown);
}

TEST(StackWords, NameTheLineOfTheProgramAndTheOperator) {
  EXPECT_EQ(PlaceOf({{"??", "at::_ops::empty::call(x)"},
                     {"??", "at::_ops::linear::call(x)"},
                     kLinear,
                     kCall,
                     kForward,
                     kCall,
                     kMain}),
            "net.py:7 forward (linear)");
  EXPECT_EQ(PlaceOf({kLinear, kCall, kMain}), "linear.py:7 forward");
  EXPECT_EQ(PlaceOf({{"/venv/torch/_tensor.py", "to"}, kMain}),
            "train.py:7 <module>");
  EXPECT_EQ(
      PlaceOf({{"??", "at::_ops::mm::call(x)"},
               {"??", "torch::autograd::generated::MmBackward0::apply(x)"},
               kEngine}),
      "MmBackward0");
  EXPECT_EQ(PlaceOf({kStep, kMain}), "adamw.py:7 step");
  EXPECT_EQ(PlaceOf({}), "");
}

TEST(StackWords, KnowWorkspacesOfLibraries) {
  const MemorySnapshot snapshot =
      WithStack({{"??", "at::cuda::getCurrentCUDABlasHandle(bool)"}, kLinear});
  EXPECT_TRUE(StackWords(snapshot).IsWorkspace(0));
  EXPECT_FALSE(StackWords(snapshot).IsWorkspace(1));
  EXPECT_FALSE(StackWords(snapshot).IsWorkspace(kNoStack));
}

}  // namespace
}  // namespace foretell::snapshot
