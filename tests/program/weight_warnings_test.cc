#include "src/program/weight_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WeightWarnings, NothingIsSaidOfFloat32) {
  const std::map<DType, std::int64_t> elements = {{DType::kF32, 1000}};
  for (const Precision precision : {Precision::kFp32, Precision::kTf32,
                                    Precision::kFp16, Precision::kBf16}) {
    EXPECT_THAT(WeightWarnings(elements, precision), IsEmpty());
  }
}

TEST(WeightWarnings, AFileOfItsOwnTypeKeepsItUnlessTold) {
  const std::map<DType, std::int64_t> elements = {{DType::kF16, 1000}};
  EXPECT_THAT(
      WeightWarnings(elements, Precision::kFp32),
      ElementsAre("1000 weights of type f16 keep their type at --precision "
                  "fp32"));
  EXPECT_THAT(
      WeightWarnings(elements, Precision::kFp16),
      ElementsAre("1000 weights of type f16: --precision fp16 does not change "
                  "them"));
  EXPECT_THAT(
      WeightWarnings(elements, Precision::kBf16),
      ElementsAre("1000 weights of type f16 are cast to bf16 by --precision "
                  "bf16"));
}

TEST(WeightWarnings, ADefaultThatCastsNothingGoesWithoutSaying) {
  EXPECT_THAT(WeightWarnings({{DType::kBF16, 1000}}, Precision::kFp32,
                             /*chose_precision=*/false),
              IsEmpty());
}

TEST(WeightWarnings, ComplexWeightsAreParametersThatNoPrecisionCasts) {
  const std::map<DType, std::int64_t> elements = {{DType::kF32, 72},
                                                  {DType::kC64, 2304}};
  EXPECT_THAT(WeightWarnings(elements, Precision::kFp32), IsEmpty());
  EXPECT_THAT(
      WeightWarnings(elements, Precision::kFp16),
      ElementsAre("2304 weights of type c64 keep their type at --precision "
                  "fp16"));
}

TEST(WeightWarnings, QuantisedWeightsAreCountedInBytes) {
  EXPECT_THAT(
      WeightWarnings({{DType::kF32, 10}, {DType::kI8, 4096}}, Precision::kFp32),
      ElementsAre("4096 weights of type i8 (4096 bytes) are counted as "
                  "memory, not as parameters"));
}

TEST(WeightWarnings, AFewScalarsAreNotWorthAWord) {
  EXPECT_THAT(WeightWarnings({{DType::kF32, 1000}, {DType::kF64, 10}},
                             Precision::kFp32),
              IsEmpty());
  EXPECT_THAT(WeightWarnings({{DType::kF32, 1000}, {DType::kF64, 11}},
                             Precision::kFp32),
              ElementsAre(testing::HasSubstr("11 weights of type f64")));
}

}  // namespace
}  // namespace foretell
