#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "foretell/graph.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

constexpr int kNumDTypes = static_cast<int>(DType::kC128) + 1;

TEST(DType, HasTheWidthOfItsName) {
  EXPECT_EQ(ByteWidth(DType::kF64), 8);
  EXPECT_EQ(ByteWidth(DType::kF32), 4);
  EXPECT_EQ(ByteWidth(DType::kF16), 2);
  EXPECT_EQ(ByteWidth(DType::kBF16), 2);
  EXPECT_EQ(ByteWidth(DType::kF8), 1);
  EXPECT_EQ(ByteWidth(DType::kI64), 8);
  EXPECT_EQ(ByteWidth(DType::kI32), 4);
  EXPECT_EQ(ByteWidth(DType::kI16), 2);
  EXPECT_EQ(ByteWidth(DType::kI8), 1);
  EXPECT_EQ(ByteWidth(DType::kU64), 8);
  EXPECT_EQ(ByteWidth(DType::kU32), 4);
  EXPECT_EQ(ByteWidth(DType::kU16), 2);
  EXPECT_EQ(ByteWidth(DType::kU8), 1);
  EXPECT_EQ(ByteWidth(DType::kBool), 1);
  EXPECT_EQ(ByteWidth(DType::kC64), 8);
  EXPECT_EQ(ByteWidth(DType::kC128), 16);
}

TEST(DType, IsParsedFromItsName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    names.insert(DTypeName(dtype));
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kNumDTypes));
  EXPECT_EQ(DTypeName(DType::kBF16), "bf16");
  EXPECT_EQ(ParseDType("f31"), std::nullopt);
}

TEST(DType, KnowsFloatingPoint) {
  EXPECT_TRUE(IsFloatingPoint(DType::kF8));
  EXPECT_TRUE(IsFloatingPoint(DType::kBF16));
  EXPECT_FALSE(IsFloatingPoint(DType::kI64));
  EXPECT_FALSE(IsFloatingPoint(DType::kC64));
}

TEST(TensorType, CountsElementsAndBytes) {
  const TensorType type{DType::kBF16, {8, 3, 4}};
  EXPECT_EQ(type.NumElements(), 96);
  EXPECT_EQ(type.Bytes(), 192);
  EXPECT_EQ(ToString(type), "bf16[8,3,4]");
}

TEST(TensorType, OfAScalarHasOneElement) {
  const TensorType type{DType::kI64, {}};
  EXPECT_EQ(type.NumElements(), 1);
  EXPECT_EQ(type.Bytes(), 8);
  EXPECT_EQ(ToString(type), "i64[]");
}

TEST(TensorType, RefusesElementsBeyondInt64) {
  const TensorType type{DType::kU8, {std::int64_t{1} << 62, 4}};
  ExpectError([&] { type.NumElements(); }, ErrorCode::kInvalidArgument,
              "u8[4611686018427387904,4]");
}

TEST(TensorType, RefusesBytesBeyondInt64) {
  const TensorType type{DType::kF64, {std::int64_t{1} << 61}};
  EXPECT_EQ(type.NumElements(), std::int64_t{1} << 61);
  ExpectError([&] { type.Bytes(); }, ErrorCode::kInvalidArgument, "bytes");
}

TEST(Names, AreReadBack) {
  for (int i = 0; i < kNumTensorRoles; ++i) {
    const TensorRole role = static_cast<TensorRole>(i);
    EXPECT_EQ(ParseTensorRole(TensorRoleName(role)), role);
  }
  for (int i = 0; i < 4; ++i) {
    const Precision precision = static_cast<Precision>(i);
    EXPECT_EQ(ParsePrecision(PrecisionName(precision)), precision);
  }
  for (int i = 0; i < 3; ++i) {
    const Phase phase = static_cast<Phase>(i);
    EXPECT_EQ(ParsePhase(PhaseName(phase)), phase);
  }
  EXPECT_EQ(ParseMode("training"), Mode::kTraining);
  EXPECT_EQ(ParseMode("guessing"), std::nullopt);
  EXPECT_EQ(TensorRoleName(TensorRole::kOptimizerTemporary),
            "optimizer_temporary");
  EXPECT_EQ(PrecisionName(Precision::kTf32), "tf32");
}

}  // namespace
}  // namespace foretell
