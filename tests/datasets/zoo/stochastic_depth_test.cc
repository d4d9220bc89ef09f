#include "datasets/zoo/stochastic_depth.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace foretell::zoo {
namespace {

TEST(StochasticDepth, IsTheIdentityInInference) {
  StochasticDepth layer(0.5);
  layer.eval();
  const at::Tensor x = at::ones({4, 3});
  EXPECT_TRUE(layer.forward(x).is_same(x));
}

TEST(StochasticDepth, DropsOrScalesWholeSamplesInTraining) {
  at::manual_seed(7);
  StochasticDepth layer(0.75);
  const at::Tensor y = layer.forward(at::ones({64, 3, 2}));
  int dropped = 0;
  for (std::int64_t i = 0; i < y.size(0); ++i) {
    const float first = y[i][0][0].item<float>();
    EXPECT_TRUE(first == 0.f || first == 4.f) << first;
    EXPECT_TRUE((y[i] == first).all().item<bool>());
    dropped += first == 0.f ? 1 : 0;
  }
  // 48 expected; five standard deviations are 17.
  EXPECT_NEAR(dropped, 48, 17);
  EXPECT_LT(dropped, 64);
}

TEST(StochasticDepth, DropsEverythingWithCertainty) {
  StochasticDepth layer(1);
  EXPECT_EQ(layer.forward(at::ones({8, 3})).abs().sum().item<float>(), 0.f);
}

}  // namespace
}  // namespace foretell::zoo
