#include "src/classify/estimator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "src/classify/encode.h"
#include "tests/classify/toy_steps.h"
#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;

constexpr EstimatorOptions kSmall{.kind = EstimatorKind::kTransformer,
                                  .numbers = 3,
                                  .classes = 4,
                                  .hidden = 5,
                                  .depth = 1,
                                  .width = 8};

/// Two steps with sequences of `length`, of which the second is a layer
/// shorter.
StepBatch RandomBatch(std::int64_t length) {
  at::manual_seed(1);
  StepBatch batch{.numbers = at::randn({2, kSmall.numbers}),
                  .prior = at::zeros({2, kSmall.classes}),
                  .layers = at::randn({2, length, kLayerWidth}),
                  .is_layer = at::ones({2, length}, at::kBool)};
  batch.is_layer[1][length - 1] = false;
  return batch;
}

/// An estimator with random logits, which start at 0.
std::shared_ptr<Estimator> MakeRandom(const EstimatorOptions& options) {
  const at::NoGradGuard no_gradients;
  std::shared_ptr<Estimator> estimator = MakeEstimator(options);
  for (auto& parameter : estimator->named_parameters()) {
    if (parameter.key() == "head.logits.weight") parameter.value().normal_();
  }
  return estimator;
}

TEST(Estimator, StartsAtWhatTheSimulationSays) {
  for (const EstimatorKind kind :
       {EstimatorKind::kMlp, EstimatorKind::kTransformer}) {
    EstimatorOptions options = kSmall;
    options.kind = kind;
    StepBatch batch = RandomBatch(4);
    batch.prior = at::randn({2, options.classes});
    EXPECT_TRUE(
        MakeEstimator(options)->forward(batch).allclose(2 * batch.prior));
  }
}

TEST(TransformerEstimator, DoesNotSeeWhatLiesBeyondTheEnd) {
  const auto estimator = MakeRandom(kSmall);
  StepBatch batch = RandomBatch(4);
  const at::Tensor before = estimator->forward(batch);
  batch.layers[1][3] += 100;
  const at::Tensor after = estimator->forward(batch);
  EXPECT_EQ(before.sizes(), at::IntArrayRef({2, 4}));
  EXPECT_TRUE(before.allclose(after));
  batch.layers[1][2] += 100;
  EXPECT_FALSE(before[1].allclose(estimator->forward(batch)[1]));
}

TEST(TransformerEstimator, AnswersTheSameAloneAsBesideLongerSequences) {
  const auto estimator = MakeRandom(kSmall);
  const StepBatch both = RandomBatch(4);
  const StepBatch alone{
      .numbers = both.numbers.narrow(0, 1, 1),
      .prior = both.prior.narrow(0, 1, 1),
      .layers = both.layers.narrow(0, 1, 1).narrow(1, 0, 3),
      .is_layer = both.is_layer.narrow(0, 1, 1).narrow(1, 0, 3)};
  EXPECT_TRUE(estimator->forward(alone)[0].allclose(estimator->forward(both)[1],
                                                    1e-4, 1e-5));
}

TEST(TransformerEstimator, SeesTheOrderOfLayers) {
  const auto estimator = MakeRandom(kSmall);
  StepBatch batch = RandomBatch(4);
  const at::Tensor before = estimator->forward(batch)[0].clone();
  batch.layers = batch.layers.flip(1);
  EXPECT_FALSE(before.allclose(estimator->forward(batch)[0], 1e-4, 1e-5));
}

TEST(MlpEstimator, SeesNumbersOnly) {
  EstimatorOptions options = kSmall;
  options.kind = EstimatorKind::kMlp;
  const auto estimator = MakeRandom(options);
  StepBatch batch = RandomBatch(4);
  const at::Tensor before = estimator->forward(batch);
  batch.layers = at::Tensor();
  EXPECT_TRUE(before.equal(estimator->forward(batch)));
  batch.numbers += 1;
  EXPECT_FALSE(before.equal(estimator->forward(batch)));
}

TEST(Estimator, RefusesSizesThatCannotBe) {
  EstimatorOptions options = kSmall;
  options.hidden = 0;
  ExpectError(ErrorCode::kInvalidArgument, "0 hidden",
              [&] { MakeEstimator(options); });
  options = kSmall;
  options.heads = 3;
  ExpectError(ErrorCode::kInvalidArgument, "width 8 with 3 heads",
              [&] { MakeEstimator(options); });
}

TEST(Estimator, IsCalledByItsName) {
  EXPECT_EQ(ParseEstimator("transformer"), EstimatorKind::kTransformer);
  EXPECT_EQ(EstimatorName(EstimatorKind::kMlp), "mlp");
  EXPECT_EQ(ParseEstimator("gru"), std::nullopt);
}

}  // namespace
}  // namespace foretell::classify
