#include "src/network/segment_ops.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "src/network/attention.h"
#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

// 0 → 1, 0 → 2, 1 → 2, 2 → 3 and a node on its own.
GraphBatch Diamond() {
  return InDouble(
      CollateAll({CountedGraph(5, {{0, 1}, {0, 2}, {1, 2}, {2, 3}})}));
}

const at::Tensor& SegmentInput() {
  static const at::Tensor x =
      Matrix({{1, 10}, {2, 20}, {4, 40}, {8, 80}, {16, 160}});
  return x;
}

::testing::AssertionResult Near(const at::Tensor& found,
                                const at::Tensor& expected,
                                double tolerance = 1e-12) {
  if (found.sizes() == expected.sizes() &&
      (found.to(at::kDouble) - expected.to(at::kDouble))
              .abs()
              .max()
              .item<double>() <= tolerance) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << found << "\ninstead of\n" << expected;
}

TEST(Aggregate, SumsProducers) {
  EXPECT_TRUE(Near(Aggregate(SegmentInput(), SumOfProducers(Diamond())),
                   Matrix({{0, 0}, {1, 10}, {3, 30}, {4, 40}, {0, 0}})));
}

TEST(Aggregate, TakesTheMeanOfProducers) {
  EXPECT_TRUE(Near(Aggregate(SegmentInput(), MeanOfProducers(Diamond())),
                   Matrix({{0, 0}, {1, 10}, {1.5, 15}, {4, 40}, {0, 0}})));
}

TEST(Aggregate, AddsTheNodeItself) {
  EXPECT_TRUE(Near(Aggregate(SegmentInput(), SumWithSelf(Diamond())),
                   Matrix({{1, 10}, {3, 30}, {7, 70}, {12, 120}, {16, 160}})));
}

TEST(Aggregate, NormalisesSymmetrically) {
  // d = 1, 2, 3, 2, 1.
  const double r2 = std::sqrt(2.0);
  const double r3 = std::sqrt(3.0);
  const double r6 = std::sqrt(6.0);
  const double node1 = 1 / r2 + 2 / 2.0;
  const double node2 = 1 / r3 + 2 / r6 + 4 / 3.0;
  const double node3 = 4 / r6 + 8 / 2.0;
  EXPECT_TRUE(Near(Aggregate(SegmentInput(), SymmetricMean(Diamond())),
                   Matrix({{1, 10},
                           {node1, 10 * node1},
                           {node2, 10 * node2},
                           {node3, 10 * node3},
                           {16, 160}})));
}

// A loss that weighs every element differently.
at::Tensor Weighted(const at::Tensor& y) {
  const at::Tensor weight =
      torch::arange(y.numel(), at::kDouble).add(1).sin().view_as(y);
  return (y * weight).sum();
}

TEST(Aggregate, HasTheGradientOfFiniteDifferences) {
  const GraphBatch batch = InDouble(CollateAll({RandomGraph(9, 3)}));
  const at::Tensor x = torch::randn({9, 3}, at::kDouble);
  for (const auto& make :
       {&SumOfProducers, &MeanOfProducers, &SumWithSelf, &SymmetricMean}) {
    const Aggregation aggregation = make(batch);
    EXPECT_LT(GradientError(
                  [&](const at::Tensor& rows) {
                    return Weighted(Aggregate(rows, aggregation));
                  },
                  x),
              1e-8);
  }
}

TEST(Aggregate, GivesTheSameBitsWithAnyNumberOfThreads) {
  const GraphBatch batch =
      CollateAll({RandomGraph(700, 5), RandomGraph(900, 6)});
  const Aggregation mean = MeanOfProducers(batch);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    at::Tensor x = batch.nodes.clone().repeat({1, 4}).set_requires_grad(true);
    const at::Tensor y = Aggregate(x, mean);
    (y * y).sum().backward();
    return std::pair(y.detach(), x.grad());
  };
  const auto one = run(1);
  const auto three = run(3);
  at::set_num_threads(1);
  EXPECT_TRUE(one.first.equal(three.first));
  EXPECT_TRUE(one.second.equal(three.second));
}

TEST(Aggregate, TakesSixteenBitRowsAsFloats) {
  const at::Tensor sum =
      Aggregate(SegmentInput().to(at::kBFloat16), SumOfProducers(Diamond()));
  EXPECT_EQ(sum.scalar_type(), at::kFloat);
  EXPECT_TRUE(
      Near(sum, Matrix({{0, 0}, {1, 10}, {3, 30}, {4, 40}, {0, 0}}), 1e-6));
}

TEST(PoolGraphs, SumsAveragesOrTakesTheLargest) {
  const at::Tensor x = Matrix({{1, -5}, {2, -7}, {6, -6}, {4, 3}});
  const at::Tensor begin = torch::tensor({0, 3, 4}, at::kInt);
  EXPECT_TRUE(
      Near(PoolGraphs(x, begin, Pooling::kSum), Matrix({{9, -18}, {4, 3}})));
  EXPECT_TRUE(
      Near(PoolGraphs(x, begin, Pooling::kMean), Matrix({{3, -6}, {4, 3}})));
  EXPECT_TRUE(
      Near(PoolGraphs(x, begin, Pooling::kMax), Matrix({{6, -5}, {4, 3}})));
}

TEST(PoolGraphs, HasTheGradientOfFiniteDifferences) {
  const at::Tensor begin = torch::tensor({0, 3, 4, 9}, at::kInt);
  const at::Tensor x = torch::randn({9, 4}, at::kDouble);
  for (const Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kMax}) {
    EXPECT_LT(GradientError(
                  [&](const at::Tensor& rows) {
                    return Weighted(PoolGraphs(rows, begin, pooling));
                  },
                  x),
              1e-8);
  }
}

TEST(ReluDropout, WithoutDropoutIsRelu) {
  EXPECT_TRUE(Near(ReluDropout(Matrix({{-1, 2}, {0, -3}}), 0),
                   Matrix({{0, 2}, {0, 0}})));
}

TEST(ReluDropout, KeepsAndScalesTheRightShare) {
  torch::manual_seed(1);
  const at::Tensor y = ReluDropout(torch::ones({1000, 100}), 0.25);
  const double kept = (y > 0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(kept, 0.75, 0.005);  // Deviation 0.0014.
  EXPECT_TRUE(Near(y.max(), torch::tensor(1 / 0.75), 1e-6));
  // Neither rows nor columns are dropped whole.
  const at::Tensor share = (y > 0).to(at::kDouble);
  EXPECT_NEAR(share.mean(0).min().item<double>(), 0.75, 0.06);
  EXPECT_NEAR(share.mean(1).min().item<double>(), 0.75, 0.2);
}

TEST(ReluDropout, DropsOthersAtEveryCallAndTheSameFromOneSeed) {
  const auto draw = [] { return ReluDropout(torch::ones({50, 50}), 0.5); };
  torch::manual_seed(7);
  const at::Tensor first = draw();
  const at::Tensor second = draw();
  torch::manual_seed(7);
  EXPECT_TRUE(first.equal(draw()));
  EXPECT_NEAR((first == second).to(at::kDouble).mean().item<double>(), 0.5,
              0.06);
}

TEST(ReluDropout, DoesNotDependOnTheNumberOfThreads) {
  const auto draw = [](int threads) {
    at::set_num_threads(threads);
    torch::manual_seed(3);
    return ReluDropout(torch::ones({500, 40}), 0.1);
  };
  const at::Tensor one = draw(1);
  EXPECT_TRUE(one.equal(draw(3)));
  at::set_num_threads(1);
}

TEST(ReluDropout, HasTheGradientOfWhatItKept) {
  const at::Tensor x = torch::randn({6, 7}, at::kDouble);
  EXPECT_LT(GradientError(
                [](const at::Tensor& rows) {
                  torch::manual_seed(11);
                  return Weighted(ReluDropout(rows.clone(), 0.4));
                },
                x),
            1e-8);
}

TEST(ReluDropout, LetsNotANumberThrough) {
  const at::Tensor y = ReluDropout(torch::full({1, 4}, NAN), 0.001);
  EXPECT_TRUE(y.isnan().all().item<bool>());
}

TEST(AttendToProducers, WeighsByTheSoftmaxOfTheScores) {
  // Two producers of node 2: scores 0 + 0, ln 2 + 0, and its own ln 5.
  const GraphBatch batch =
      InDouble(CollateAll({CountedGraph(3, {{0, 2}, {1, 2}})}));
  const at::Tensor z = Matrix({{1, 0}, {0, 1}, {8, 8}});
  const at::Tensor source =
      torch::tensor({0.0, std::log(2.0), std::log(5.0)}, at::kDouble);
  const at::Tensor target = torch::zeros({3}, at::kDouble);
  EXPECT_TRUE(Near(AttendToProducers(z, source, target, SumOfProducers(batch)),
                   Matrix({{1, 0}, {0, 1}, {41 / 8.0, 42 / 8.0}})));
}

TEST(AttendToProducers, HasSlopeOneFifthBelowZero) {
  // Leaky scores: -5 ln 2 counts as -ln 2, so weights 1/3 and 2/3.
  const GraphBatch batch = InDouble(CollateAll({CountedGraph(2, {{0, 1}})}));
  const at::Tensor source =
      torch::tensor({-5 * std::log(2.0), 0.0}, at::kDouble);
  EXPECT_TRUE(Near(
      AttendToProducers(Matrix({{3}, {6}}), source,
                        torch::zeros({2}, at::kDouble), SumOfProducers(batch)),
      Matrix({{3}, {5}})));
}

TEST(AttendToProducers, SurvivesLargeScores) {
  const GraphBatch batch = CollateAll({CountedGraph(2, {{0, 1}})});
  const at::Tensor y =
      AttendToProducers(torch::ones({2, 1}), torch::full({2}, 1000.0F),
                        torch::zeros({2}), SumOfProducers(batch));
  EXPECT_TRUE(Near(y, torch::ones({2, 1}), 1e-6));
}

TEST(AttendToProducers, HasTheGradientOfFiniteDifferences) {
  const GraphBatch batch = InDouble(CollateAll({RandomGraph(7, 9)}));
  const auto attend = [&](const at::Tensor& z, const at::Tensor& source,
                          const at::Tensor& target) {
    return Weighted(
        AttendToProducers(z, source, target, SumOfProducers(batch)));
  };
  const at::Tensor z = torch::randn({7, 3}, at::kDouble);
  const at::Tensor s = torch::randn({7}, at::kDouble);
  const at::Tensor t = torch::randn({7}, at::kDouble);
  EXPECT_LT(GradientError([&](const auto& x) { return attend(x, s, t); }, z),
            1e-8);
  EXPECT_LT(GradientError([&](const auto& x) { return attend(z, x, t); }, s),
            1e-8);
  EXPECT_LT(GradientError([&](const auto& x) { return attend(z, s, x); }, t),
            1e-8);
}

}  // namespace
}  // namespace foretell::learned
