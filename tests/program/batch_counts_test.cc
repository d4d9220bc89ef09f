// A batch norm without a count, on [4,8,6].

#include "src/program/batch_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "foretell/trace.h"
#include "tests/program/fake_program.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Forward;
using program_test::Tensors;
using program_test::Weights;

const BoundInput kImage{"x", {DType::kF32, {4, 8, 6}}};

/// A norm that runs `times` times and whose own code counts, or not.
program_test::Network Norm(int times, bool counts, std::string count_name) {
  return [=](Weights& weights) -> Forward {
    const at::Tensor scale = weights.Ones("bn.weight", 8);
    const at::Tensor mean = weights.Buffer("bn.running_mean", at::zeros({8}));
    const at::Tensor var = weights.Buffer("bn.running_var", at::ones({8}));
    const at::Tensor count =
        weights.Buffer(count_name, at::zeros({}, at::kLong));
    const bool trains = weights.training();
    return [=](const Tensors& inputs) -> Tensors {
      at::Tensor x = inputs[0];
      for (int i = 0; i < times; ++i) {
        if (counts) count.add_(1);
        x = at::batch_norm(x, scale, {}, mean, var, trains, 0.1, 1e-5, true);
      }
      return {x};
    };
  };
}

/// Of additions in the forward pass.
std::ptrdiff_t Additions(const program_test::Network& network, Mode mode) {
  const OperatorGraph graph =
      TraceProgram(FakeProgram("net", {kImage}, network), {kImage},
                   {.run = {.mode = mode}})
          .graph;
  return std::ranges::count_if(graph.nodes(), [](const Node& node) {
    return node.target == "add_" && node.phase == Phase::kForward;
  });
}

constexpr char kCount[] = "bn.num_batches_tracked";

TEST(BatchCounts, AreRaisedOncePerTrainedNorm) {
  EXPECT_EQ(Additions(Norm(1, false, kCount), Mode::kTraining), 1);
  EXPECT_EQ(Additions(Norm(3, false, kCount), Mode::kTraining), 3);
}

TEST(BatchCounts, AreLeftToProgramsThatRaiseThem) {
  EXPECT_EQ(Additions(Norm(2, true, kCount), Mode::kTraining), 2);
}

TEST(BatchCounts, StandInInference) {
  EXPECT_EQ(Additions(Norm(1, false, kCount), Mode::kInference), 0);
}

TEST(BatchCounts, BelongToTheModuleOfTheStatistics) {
  EXPECT_EQ(
      Additions(Norm(1, false, "other.num_batches_tracked"), Mode::kTraining),
      0);
}

}  // namespace
}  // namespace foretell
