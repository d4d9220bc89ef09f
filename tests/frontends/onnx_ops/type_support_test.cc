#include "frontends/onnx/ops/type_support.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace foretell::onnx {
namespace {

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

/// Numbers from their 64-bit patterns: -1 is 2^64 - 1.
at::Tensor U64(at::ArrayRef<std::int64_t> patterns) {
  return at::tensor(patterns, at::kLong).to(at::kUInt64);
}

std::int64_t PatternOf(const at::Tensor& tensor) {
  return tensor.to(at::kLong).item<std::int64_t>();
}

TEST(Quotient, RoundsIntegersTowardZero) {
  const at::Tensor y = Quotient(at::tensor({7, -7, 7, -7}, at::kInt),
                                at::tensor({2, 2, -2, -2}, at::kInt));
  EXPECT_TRUE(at::equal(y, at::tensor({3, -3, -3, 3}, at::kInt)));
}

TEST(Quotient, WrapsTheSmallestNumberDividedByMinusOneInsteadOfTrapping) {
  const at::Tensor y =
      Quotient(at::tensor({kSmallest, std::int64_t{6}}, at::kLong),
               at::tensor({std::int64_t{-1}}, at::kLong));
  EXPECT_EQ(y[0].item<std::int64_t>(), kSmallest);
  EXPECT_EQ(y[1].item<std::int64_t>(), -6);
}

TEST(Quotient, DoesNotTakeTheLargestByteForMinusOne) {
  const at::Tensor y =
      Quotient(at::tensor({200}, at::kByte), at::tensor({255}, at::kByte));
  EXPECT_EQ(y.scalar_type(), at::kByte);
  EXPECT_EQ(y.item<std::int64_t>(), 0);
}

TEST(Quotient, DividesUnsigned64BitNumbersBeyondTheSignedRange) {
  // 18446744073709551615 / 10 and / (2^63 + 1); 5 / (2^63 + 1).
  EXPECT_EQ(PatternOf(Quotient(U64({-1}), U64({10}))), 1844674407370955161);
  EXPECT_EQ(PatternOf(Quotient(U64({-1}), U64({kSmallest + 1}))), 1);
  EXPECT_EQ(PatternOf(Quotient(U64({5}), U64({kSmallest + 1}))), 0);
  EXPECT_EQ(PatternOf(Quotient(U64({-1}), U64({3}))), 6148914691236517205);
}

TEST(Quotient, DoesNotRoundFloatingPointNumbers) {
  const at::Tensor y = Quotient(at::tensor({7.0f}), at::tensor({2.0f}));
  EXPECT_EQ(y.item<float>(), 3.5f);
}

TEST(Ordered, KeepsTheOrderOfUnsigned64BitNumbers) {
  const at::Tensor x = U64({-1, 0, kSmallest, 1});
  EXPECT_TRUE(
      at::equal(at::argsort(Ordered(x)), at::tensor({1, 3, 2, 0}, at::kLong)));
  EXPECT_TRUE(at::equal(FromOrdered(Ordered(x), at::kUInt64).to(at::kLong),
                        x.to(at::kLong)));
}

TEST(Computable, KeepsTheBitsOfSumsOfUnsignedNumbers) {
  const at::Tensor x = at::tensor({65535}, at::kInt).to(at::kUInt16);
  const at::Tensor sum = CastTo(Computable(x).add(2), at::kUInt16);
  EXPECT_EQ(sum.to(at::kInt).item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace foretell::onnx
