#include "frontends/onnx/ops/small_types.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "foretell/error.h"
#include "foretell/program.h"
#include "frontends/onnx/literals.h"
#include "frontends/onnx/ops/type_support.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

constexpr int kUInt4Code = 21, kInt4Code = 22, kFloat4Code = 23;
constexpr int kUInt2Code = 25, kInt2Code = 26;

TensorLiteral Packed(std::int32_t code, std::vector<std::int64_t> dims,
                     std::string bytes) {
  TensorLiteral literal;
  literal.data_type = code;
  literal.dims = std::move(dims);
  literal.bytes = std::move(bytes);
  return literal;
}

at::Tensor Numbers(const TensorLiteral& literal) {
  return CastTo(HostTensor(literal, Precision::kFp32), at::kFloat);
}

void ExpectNumbers(const at::Tensor& actual, at::ArrayRef<double> expected) {
  EXPECT_TRUE(at::equal(actual, at::tensor(expected, at::kFloat))) << actual;
}

TEST(SmallTypes, AreUnpackedFromTheLowestBitsOn) {
  // 0x2f: 15 and 2, or -1 and 2; a last half byte is padding.
  ExpectNumbers(Numbers(Packed(kUInt4Code, {3}, "\x2f\x09")), {15, 2, 9});
  ExpectNumbers(Numbers(Packed(kInt4Code, {3}, "\x2f\x09")), {-1, 2, -7});
  // 0xd8 = 11 01 10 00.
  ExpectNumbers(Numbers(Packed(kUInt2Code, {4}, "\xd8")), {0, 2, 1, 3});
  ExpectNumbers(Numbers(Packed(kInt2Code, {4}, "\xd8")), {0, -2, 1, -1});
  // Codes 7, 9: the largest number and minus the smallest.
  ExpectNumbers(Numbers(Packed(kFloat4Code, {2}, "\x97")), {6, -0.5});
}

TEST(SmallTypes, RefuseAPayloadOfAnotherSize) {
  EXPECT_THROW(Numbers(Packed(kInt4Code, {3}, "\x2f")), Error);
}

TEST(SmallTypes, TakeAByteEachInTheGraph) {
  EXPECT_EQ(ToDType(ScalarTypeOf(kInt4Code, Precision::kFp16)), DType::kI8);
  EXPECT_EQ(ToDType(ScalarTypeOf(kUInt2Code, Precision::kFp32)), DType::kU8);
  EXPECT_EQ(ToDType(ScalarTypeOf(kFloat4Code, Precision::kFp16)), DType::kF8);
  EXPECT_EQ(at::elementSize(ScalarTypeOf(kFloat4Code, Precision::kFp32)), 1);
}

TEST(SmallTypes, IntegersKeepTheirLowestBits) {
  const at::Tensor x = at::tensor({-9.7, 7.9, 8.0, -1.0}, at::kFloat);
  const auto through = [&](at::ScalarType type) {
    return CastTo(ToSmallType(x, type), at::kFloat);
  };
  ExpectNumbers(through(at::kInt4), {7, 7, -8, -1});
  ExpectNumbers(through(at::kUInt4), {7, 7, 8, 15});
  ExpectNumbers(through(at::kInt2), {-1, -1, 0, -1});
  ExpectNumbers(through(at::kUInt2), {3, 3, 0, 3});
}

TEST(SmallTypes, FloatsRoundToTheNearestAndOfTwoToTheEven) {
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor x =
      at::tensor({0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.1, -0.3, 1e6, -inf},
                 at::kFloat);
  ExpectNumbers(CastTo(ToSmallType(x, at::kFloat4_e2m1fn_x2), at::kFloat),
                {0, 1, 1, 2, 2, 4, 4, 6, -0.5, 6, -6});
}

TEST(SmallTypes, FloatsKeepTheSignOfZero) {
  const at::Tensor x = at::tensor({-0.0, 0.0}, at::kFloat);
  const at::Tensor back =
      CastTo(ToSmallType(x, at::kFloat4_e2m1fn_x2), at::kFloat);
  EXPECT_TRUE(at::equal(at::signbit(back), at::signbit(x)));
}

TEST(SmallTypes, EveryCodeOfFloat4Returns) {
  const at::Tensor codes = at::tensor(
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, at::kByte);
  const at::Tensor x = FromSmallType(codes.view(at::kFloat4_e2m1fn_x2));
  EXPECT_TRUE(
      at::equal(ToSmallType(x, at::kFloat4_e2m1fn_x2).view(at::kByte), codes));
}

TEST(SmallTypes, AreSpreadOverBlocksOfAnAxis) {
  // Two rows share a zero point: 1 for the first block, -2 for the second.
  const at::Tensor zero =
      ToSmallType(at::tensor({1, -2}, at::kInt), at::kInt4).view({2, 1});
  const at::Tensor y = RunNode(
      {.op_type = "DequantizeLinear",
       .opset = 25,
       .attributes = {IntAttribute("axis", 0), IntAttribute("block_size", 2)}},
      {ToSmallType(at::tensor({3, 3, 3, 3}, at::kInt), at::kInt4).view({4, 1}),
       at::tensor({1.0, 2.0}, at::kFloat).view({2, 1}), zero})[0];
  ExpectNumbers(y.flatten(), {2, 2, 10, 10});
}

}  // namespace
}  // namespace foretell::onnx
