// Optimizers against real torch.optim, where LibTorch has none of its own: what
// they compute, keep and make in passing (make_optimizer_golden.py).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "src/core/csv_rows.h"
#include "src/core/parse_number.h"
#include "src/program/optimizer_step.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;

constexpr int kGoldenSteps = 3;

struct GoldenStep {
  Optimizer optimizer = Optimizer::kSgd;
  bool fused = false;
  std::int64_t state_bytes = 0;
  std::int64_t temporary_bytes = 0;
  std::vector<double> numbers = {};
};

std::vector<double> NumbersOf(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

std::vector<GoldenStep> ReadGolden() {
  std::vector<GoldenStep> steps;
  ForEachCsvRow(
      FORETELL_SOURCE_DIR "/tests/golden/optimizers/steps.csv",
      [&steps](const CsvRow& row) {
        std::istringstream words(row.At("optimizer"));
        std::string name;
        std::string code;
        words >> name >> code;
        steps.push_back(
            {.optimizer = ParseOptimizer(name),
             .fused = code == "fused",
             .state_bytes = ParseNumber<std::int64_t>(row.At("state")).value(),
             .temporary_bytes =
                 ParseNumber<std::int64_t>(row.At("temporary")).value(),
             .numbers = NumbersOf(row.At("weights"))});
      });
  return steps;
}

/// As make_weights() of the script.
std::vector<at::Tensor> SineWeights() {
  std::vector<at::Tensor> weights;
  const std::vector<std::int64_t> shapes[] = {{32, 16}, {32}, {8, 32}, {8}};
  for (const std::vector<std::int64_t>& shape : shapes) {
    const std::int64_t size = c10::multiply_integers(shape);
    weights.push_back(at::sin(at::arange(size, at::kFloat)).reshape(shape));
    weights.back().set_requires_grad(true);
  }
  return weights;
}

TEST(OptimizerGolden, StepsGiveTheNumbersOfTorchOptim) {
  for (const GoldenStep& golden : ReadGolden()) {
    SCOPED_TRACE(OptimizerName(golden.optimizer));
    const std::vector<at::Tensor> weights = SineWeights();
    OptimizerStep step(golden.optimizer, weights,
                       golden.fused ? StepCode::kFused : StepCode::kLists);
    for (int i = 0; i < kGoldenSteps; ++i) {
      for (const at::Tensor& weight : weights) {
        weight.mutable_grad() = weight.detach() * (0.5 + i);
      }
      step.Step();
    }
    ASSERT_EQ(golden.numbers.size(), 2 * weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const at::Tensor flat = weights[i].detach().flatten();
      EXPECT_NEAR(flat[0].item<double>(), golden.numbers[2 * i], 1e-7);
      EXPECT_NEAR(flat[-1].item<double>(), golden.numbers[2 * i + 1], 1e-6);
    }
  }
}

OperatorGraph TrainLayers(
    const BoundInput& input,
    const std::function<program_test::Layer(Layers&)>& layers,
    const GoldenStep& golden) {
  return TraceProgram(
             FakeProgram("net", {input}, program_test::Simple(layers)), {input},
             {.run = {.mode = Mode::kTraining, .optimizer = golden.optimizer},
              .loop = {.fused = golden.fused}})
      .graph;
}

OperatorGraph TrainTwoLayers(const GoldenStep& golden) {
  return TrainLayers(
      {"x", {DType::kF32, {4, 16}}},
      [](Layers& l) {
        return Chain({l.Linear(16, 32), l.Linear(32, 8)});
      },
      golden);
}

TEST(OptimizerGolden, StepsTakeTheBytesOfTorchOptim) {
  for (const GoldenStep& golden : ReadGolden()) {
    SCOPED_TRACE(OptimizerName(golden.optimizer));
    const OperatorGraph graph = TrainTwoLayers(golden);
    EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState),
              golden.state_bytes);
    EXPECT_EQ(PeakOfRole(graph, TensorRole::kOptimizerTemporary),
              golden.temporary_bytes);
  }
}

// A weight [6,4,3,5] has rows [6,4,3,1] and columns [6,4,1,5].
TEST(OptimizerGolden, AdafactorFactorsTheLastTwoDimensions) {
  const OperatorGraph graph = TrainLayers({"x", {DType::kF32, {2, 4, 8, 8}}},
                                          [](Layers& l) {
                                            return l.Conv(4, 6, {3, 5});
                                          },
                                          {.optimizer = Optimizer::kAdafactor});
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState),
            6 * 4 * (3 + 5) * 4);
}

}  // namespace
}  // namespace foretell
