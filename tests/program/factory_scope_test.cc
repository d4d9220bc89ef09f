#include "src/program/factory_scope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace foretell {
namespace {

TEST(FactoryScope, GivesFactoriesItsDeviceAndType) {
  const FactoryScope scope(at::kMeta, at::kHalf);
  const at::Tensor made = at::empty({2, 3});
  EXPECT_TRUE(made.is_meta());
  EXPECT_EQ(made.scalar_type(), at::kHalf);
  EXPECT_TRUE(at::zeros({4}).is_meta());
  EXPECT_EQ(at::randn({4}).scalar_type(), at::kHalf);
}

TEST(FactoryScope, LeavesWhatIsSaidExplicitly) {
  const FactoryScope scope(at::kMeta, at::kHalf);
  const at::Tensor made =
      at::ones({2}, at::TensorOptions().device(at::kCPU).dtype(at::kDouble));
  EXPECT_TRUE(made.is_cpu());
  EXPECT_EQ(made.scalar_type(), at::kDouble);
}

TEST(FactoryScope, CountersStayIntegers) {
  const FactoryScope scope(at::kMeta, at::kHalf);
  EXPECT_EQ(at::arange(5).scalar_type(), at::kLong);
  EXPECT_EQ(at::scalar_tensor(0, at::kLong).scalar_type(), at::kLong);
}

TEST(FactoryScope, FollowsATensorThatIsGiven) {
  const at::Tensor on_cpu = at::ones({2}, at::kDouble);
  const FactoryScope scope(at::kMeta, at::kHalf);
  const at::Tensor like = at::empty_like(on_cpu);
  EXPECT_TRUE(like.is_cpu());
  EXPECT_EQ(like.scalar_type(), at::kDouble);
}

TEST(FactoryScope, EndsWithItsLife) {
  { const FactoryScope scope(at::kMeta, at::kHalf); }
  EXPECT_TRUE(at::empty({1}).is_cpu());
  EXPECT_EQ(at::empty({1}).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace foretell
