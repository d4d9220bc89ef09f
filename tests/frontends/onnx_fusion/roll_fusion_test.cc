#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// Elements [begin, end) of x along an axis.
std::string Sliced(ModelBuilder& m, const std::string& x, std::int64_t axis,
                   std::int64_t begin, std::int64_t end) {
  return m.Op("Slice",
              {x, m.Integers({begin}), m.Integers({end}), m.Integers({axis})});
}

/// Elements of x from `begin` to `end`, then those before `begin`.
std::string Turned(ModelBuilder& m, const std::string& x, std::int64_t axis,
                   std::int64_t begin, std::int64_t end = kToTheEnd) {
  const std::string front = Sliced(m, x, axis, begin, end);
  return m.Op("Concat", {front, Sliced(m, x, axis, 0, begin)},
              {MakeInt("axis", axis)});
}

TEST(RollFusion, SlicesThatChangePlacesAreOneRoll) {
  ModelBuilder m;
  m.Output(Turned(m, Turned(m, m.Input({2, 4, 5}), 1, 3), 2, -2));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Roll"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(RollFusion, EndMayBeTheSizeOfTheAxis) {
  ModelBuilder m;
  m.Output(Turned(m, m.Input({2, 4, 5}), 1, 3, 4));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Roll"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(RollFusion, ElementsBehindTheEndAreLeftOut) {
  ModelBuilder m;
  m.Output(Turned(m, m.Input({2, 4, 5}), 1, 2, 3));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(RollFusion, BeginMayLieBeyondTheAxis) {
  for (const std::int64_t begin : {-7, 7}) {
    ModelBuilder m;
    m.Output(Turned(m, m.Input({2, 4, 5}), 1, begin));
    EXPECT_TRUE(ComputesTheSame(m.model())) << begin;
  }
}

TEST(RollFusion, OtherSlicesStay) {
  ModelBuilder gap;
  const std::string x = gap.Input({2, 4, 5});
  gap.Output(gap.Op("Concat",
                    {Sliced(gap, x, 1, 3, kToTheEnd), Sliced(gap, x, 1, 0, 2)},
                    {MakeInt("axis", 1)}));
  EXPECT_THAT(Fused(gap.model()), IsEmpty());

  ModelBuilder other_axis;
  const std::string y = other_axis.Input({4, 4});
  other_axis.Output(other_axis.Op(
      "Concat",
      {Sliced(other_axis, y, 1, 2, kToTheEnd), Sliced(other_axis, y, 1, 0, 2)},
      {MakeInt("axis", 0)}));
  EXPECT_THAT(Fused(other_axis.model()), IsEmpty());
}

TEST(RollFusion, SliceThatIsReadElsewhereStays) {
  ModelBuilder m;
  const std::string x = m.Input({2, 4, 5});
  const std::string front = Sliced(m, x, 1, 1, kToTheEnd);
  m.Output(
      m.Op("Concat", {front, Sliced(m, x, 1, 0, 1)}, {MakeInt("axis", 1)}));
  m.Output(front);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
