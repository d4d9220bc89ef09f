#include <gtest/gtest.h>

#include "src/graph/macs.h"
#include "tests/graph/expect_error.h"
#include "tests/graph/macs_of.h"

namespace foretell {
namespace {

TEST(EinsumMacs, MultiplyAllIndexSizesOfTwoOperands) {
  EXPECT_EQ(EinsumMacs("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}), 120);
  EXPECT_EQ(EinsumMacs("i,i->", {{4}, {4}}), 4);
  EXPECT_EQ(EinsumMacs("bhid, bhjd -> bhij", {{2, 3, 4, 8}, {2, 3, 5, 8}}),
            960);
}

TEST(EinsumMacs, AlignAnEllipsisAtTheRight) {
  EXPECT_EQ(EinsumMacs("...ij,...jk->...ik", {{7, 2, 3, 4}, {2, 4, 5}}), 840);
}

TEST(EinsumMacs, BroadcastSizesOfOne) {
  EXPECT_EQ(EinsumMacs("bi,bi->b", {{1, 4}, {3, 4}}), 12);
}

TEST(EinsumMacs, ContractThreeOperandsFromLeftToRight) {
  // 2*3*4 for the first pair, then 2*4*5
  EXPECT_EQ(EinsumMacs("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}), 64);
  EXPECT_EQ(EinsumMacs("ij,jk,kl", {{2, 3}, {3, 4}, {4, 5}}), 64);
}

TEST(EinsumMacs, KeepAnIndexThatTheResultNeeds) {
  // j is in the result: the second product is 2*3*4*5
  EXPECT_EQ(EinsumMacs("ij,jk,kl->ijl", {{2, 3}, {3, 4}, {4, 5}}), 24 + 120);
}

TEST(EinsumMacs, AreZeroForOneOperand) {
  EXPECT_EQ(EinsumMacs("ij->ji", {{2, 3}}), 0);
}

TEST(EinsumMacs, AreZeroWithAnEmptyDimension) {
  EXPECT_EQ(EinsumMacs("ij,jk->ik", {{0, 3}, {3, 4}}), 0);
}

TEST(EinsumMacs, RefuseAnEquationThatDoesNotFit) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  ExpectError(
      [] {
        EinsumMacs("ij,jk->ik", {{2, 3}});
      },
      code, "names 2 operands, the operator has 1");
  ExpectError(
      [] {
        EinsumMacs("ij,jk->ik", {{2, 3}, {4, 5}});
      },
      code, "an index of 'jk' has size 4, earlier 3");
  ExpectError(
      [] {
        EinsumMacs("ij,jk->ik", {{2, 3, 4}, {4, 5}});
      },
      code, "operand 'ij' has rank 3");
  ExpectError(
      [] {
        EinsumMacs("i...j,jk", {{2}, {4, 5}});
      },
      code, "operand 'i...j' has rank 1");
  ExpectError(
      [] {
        EinsumMacs("i?,?k", {{2, 2}, {2, 5}});
      },
      code, "unexpected '?'");
}

TEST(EinsumMacs, AreReadFromTheAttributeOfTheNode) {
  EXPECT_EQ(MacsOf("%y = einsum(input f32[2,3], input f32[3,4]) "
                   "{equation=\"ij,jk->ik\"} : f32[2,4]"),
            24);
  ExpectError(
      [] { MacsOf("%y = einsum(input f32[2,3], input f32[3,4]) : f32[2,4]"); },
      ErrorCode::kCorrupt, "einsum has no attribute 'equation'");
}

}  // namespace
}  // namespace foretell
