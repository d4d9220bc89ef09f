#include "src/classify/encode.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tests/classify/toy_steps.h"

namespace foretell::classify {
namespace {

const MemoryClasses& Classes() {
  static const MemoryClasses classes({4000, 8000});
  return classes;
}

float NumberOf(const std::string& name, const StepInputs& step,
               InputSet set = InputSet::kPhysics) {
  const std::vector<std::string> names = NumberNames(set, Classes());
  const auto found = std::ranges::find(names, name);
  EXPECT_NE(found, names.end()) << name;
  const std::vector<float> numbers = EncodeNumbers(step, set, Classes());
  EXPECT_EQ(numbers.size(), names.size());
  return numbers.at(static_cast<std::size_t>(found - names.begin()));
}

TEST(EncodeNumbers, TakesLogarithmsOfSizesAndCounts) {
  const StepInputs step = ToyStep(1000).inputs;
  EXPECT_FLOAT_EQ(NumberOf("batch", step), std::log2(5.0F));
  EXPECT_FLOAT_EQ(NumberOf("parameters", step), std::log2(101.0F));
  EXPECT_FLOAT_EQ(NumberOf("activations", step), std::log2(61.0F));
  EXPECT_FLOAT_EQ(NumberOf("activations_of_batch", step), std::log2(241.0F));
  EXPECT_FLOAT_EQ(NumberOf("linear_layers", step), 2);
  EXPECT_FLOAT_EQ(NumberOf("convolution_layers", step), 0);
}

TEST(EncodeNumbers, PutsTheActivationOnHalfACircle) {
  const StepInputs step = ToyStep(1000).inputs;  // ReLU: the seventh of 11.
  const float angle = 6 * std::numbers::pi_v<float> / 11;
  EXPECT_FLOAT_EQ(NumberOf("activation_cos", step), std::cos(angle));
  EXPECT_FLOAT_EQ(NumberOf("activation_sin", step), std::sin(angle));
}

TEST(EncodeNumbers, PutsTheSimulationBesideEveryEdge) {
  const StepInputs step = ToyStep(4000 * std::exp2(0.25)).inputs;
  EXPECT_NEAR(NumberOf("total_beside_4000", step), 2, 1e-5);
  EXPECT_FLOAT_EQ(NumberOf("total_beside_8000", step), -4);
  EXPECT_FLOAT_EQ(NumberOf("fits", step), 1);
}

TEST(EncodeNumbers, OfThePublishedInputsKnowNoSimulation) {
  LabelledStep one = ToyStep(1000);
  LabelledStep other = ToyStep(1000);
  other.inputs.simulated = {};
  EXPECT_EQ(EncodeNumbers(one.inputs, InputSet::kPublished, Classes()),
            EncodeNumbers(other.inputs, InputSet::kPublished, Classes()));
  EXPECT_NE(EncodeNumbers(one.inputs, InputSet::kPhysics, Classes()),
            EncodeNumbers(other.inputs, InputSet::kPhysics, Classes()));
}

TEST(EncodePrior, DiffersFromClassToClassByTheDistanceToTheEdgeBetween) {
  const StepInputs step = ToyStep(4000 * std::exp2(0.25)).inputs;
  const std::vector<float> prior =
      EncodePrior(step, InputSet::kPhysics, Classes());
  ASSERT_EQ(prior.size(), 3);
  EXPECT_FLOAT_EQ(prior[0], 0);
  EXPECT_NEAR(prior[1], 2, 1e-5);
  EXPECT_NEAR(prior[2], -2, 1e-5);
  EXPECT_EQ(EncodePrior(step, InputSet::kPublished, Classes()),
            std::vector<float>(3, 0.0F));
}

StepBatch BatchOf(const std::vector<const StepInputs*>& steps) {
  const StepTable table(steps, InputSet::kPublished, Classes(), true);
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows.push_back(static_cast<std::int64_t>(i));
  }
  return table.Take(rows);
}

TEST(StepTable, PadsShorterSequencesAndSaysSo) {
  const StepInputs three = ToyStep(1000, 3).inputs;
  const StepInputs one = ToyStep(1000, 1).inputs;
  const StepBatch batch = BatchOf({&three, &one});
  ASSERT_EQ(batch.layers.sizes(), at::IntArrayRef({2, 3, kLayerWidth}));
  EXPECT_TRUE(batch.is_layer.equal(
      at::tensor({1, 1, 1, 1, 0, 0}).view({2, 3}).to(at::kBool)));
  EXPECT_EQ(batch.layers[1][1].abs().sum().item<float>(), 0);
  EXPECT_FLOAT_EQ(batch.layers[0][0][0].item<float>(), 1);  // Linear.
  EXPECT_FLOAT_EQ(batch.layers[0][2][kNumLayerKinds].item<float>(),
                  std::log2(1 + 4 * 30.0F) / 20);
}

TEST(StepTable, CutsLongSequencesIntoRunsThatStandForTheirLayers) {
  StepInputs step = ToyStep(1000, 2 * kMostElements).inputs;
  for (std::size_t i = 0; i < step.layers.size(); i += 2) {
    step.layers[i] = {LayerKind::kDropout, 10, 0};
    step.layers[i + 1] = {LayerKind::kLinear, 20, 30};
  }
  const StepBatch batch = BatchOf({&step});
  ASSERT_EQ(batch.layers.size(1), kMostElements);
  const at::Tensor run = batch.layers[0][5];
  const auto at = [&run](LayerKind kind) {
    return run[static_cast<std::int64_t>(kind)].item<float>();
  };
  EXPECT_FLOAT_EQ(at(LayerKind::kDropout), 0.5);
  EXPECT_FLOAT_EQ(at(LayerKind::kLinear), 0.5);
  EXPECT_FLOAT_EQ(run[kNumLayerKinds].item<float>(),
                  std::log2(1 + 4 * 30.0F) / 20);
  EXPECT_FLOAT_EQ(run[kNumLayerKinds + 1].item<float>(), std::log2(31.0F) / 20);
}

TEST(StepTable, GivesAStepWithoutLayersAnElement) {
  const StepInputs none = ToyStep(1000, 0).inputs;
  EXPECT_EQ(BatchOf({&none}).layers.size(1), 1);
}

}  // namespace
}  // namespace foretell::classify
