#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Splits x into `sizes` along dimension 0; names of the parts.
std::vector<std::string> Split(ModelBuilder& m, const std::string& x,
                               const std::vector<std::int64_t>& sizes) {
  m.Op("Split", {x, m.Integers(sizes)}, {MakeInt("axis", 0)});
  Node& split = m.model().graph.nodes.back();
  split.outputs.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    split.outputs.push_back("part" + std::to_string(i));
  }
  return split.outputs;
}

std::string Squeezed(ModelBuilder& m, const std::string& x,
                     std::int64_t axis = 0) {
  return m.Op("Squeeze", {x, m.Integers({axis})});
}

TEST(ViewFusion, SplitIntoSqueezedOnesIsUnbind) {
  ModelBuilder m;
  for (const std::string& part : Split(m, m.Input({3, 2, 5}), {1, 1, 1})) {
    m.Output(m.Op("Relu", {Squeezed(m, part)}));
  }
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("foretell.Unbind", "Relu", "Relu", "Relu"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

/// Element `index` of x along dimension 0, as the newer exporter takes it.
std::string Sliced(ModelBuilder& m, const std::string& x, std::int64_t index,
                   std::int64_t step = 1) {
  return m.Op("Slice", {x, m.Integers({index}), m.Integers({index + 1}),
                        m.Integers({0}), m.Integers({step})});
}

TEST(ViewFusion, SlicesOfOneAreUnbind) {
  ModelBuilder m;
  const std::string x = m.Input({3, 2, 5});
  for (const std::int64_t index : {0, 1, 2}) {
    m.Output(m.Op("Relu", {Squeezed(m, Sliced(m, x, index))}));
  }
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("foretell.Unbind", "Relu", "Relu", "Relu"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ViewFusion, SlicesOfSomePartsStaySlices) {
  ModelBuilder m;
  const std::string x = m.Input({4, 2, 5});
  for (const std::int64_t index : {0, 1}) {
    m.Output(Squeezed(m, Sliced(m, x, index)));
  }
  EXPECT_THAT(Fused(m.model()), ElementsAre("Unbind"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ViewFusion, OtherSlicesAreNoUnbind) {
  ModelBuilder alone;
  alone.Output(Squeezed(alone, Sliced(alone, alone.Input({3, 2}), 0)));
  EXPECT_THAT(Fused(alone.model()), IsEmpty());

  ModelBuilder stepped;
  const std::string x = stepped.Input({3, 2});
  stepped.Output(Squeezed(stepped, Sliced(stepped, x, 0)));
  stepped.Output(Squeezed(stepped, Sliced(stepped, x, 1, 2)));
  EXPECT_THAT(Fused(stepped.model()), IsEmpty());

  ModelBuilder whole;
  const std::string y = whole.Input({2, 2});
  whole.Output(Squeezed(whole, Sliced(whole, y, 0)));
  whole.Output(Sliced(whole, y, 1));
  EXPECT_THAT(Fused(whole.model()), IsEmpty());
}

TEST(ViewFusion, UnboundPartsMayBeOutputsAndAttended) {
  ModelBuilder m;
  const auto parts = Split(m, m.Input({3, 2, 5, 4}), {1, 1, 1});
  const std::string q = Squeezed(m, parts[0]);
  const std::string k = Squeezed(m, parts[1]);
  const std::string v = Squeezed(m, parts[2]);
  const std::string root = m.Number(0.5);
  const std::string turned =
      m.Op("Transpose", {k}, {MakeInts("perm", {0, 2, 1})});
  const std::string scores =
      m.Op("MatMul", {m.Op("Mul", {q, root}), m.Op("Mul", {turned, root})});
  const std::string weights = m.Op("Softmax", {scores}, {MakeInt("axis", -1)});
  m.Output(m.Op("MatMul", {weights, v}));
  m.Output(k);
  EXPECT_THAT(Rewritten(m.model()),
              ElementsAre("foretell.Unbind", "foretell.Attention"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ViewFusion, LargerPartsAreNoUnbind) {
  ModelBuilder m;
  const auto parts = Split(m, m.Input({3, 2, 5}), {1, 2});
  m.Output(Squeezed(m, parts[0]));
  m.Output(m.Op("Relu", {parts[1]}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(ViewFusion, PartThatIsAlsoReadWholeKeepsTheSplit) {
  ModelBuilder m;
  const auto parts = Split(m, m.Input({2, 2, 5}), {1, 1});
  m.Output(Squeezed(m, parts[0]));
  m.Output(Squeezed(m, parts[1]));
  m.Output(parts[1]);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(ViewFusion, SqueezeOfAnotherDimensionIsNoUnbind) {
  ModelBuilder m;
  const auto parts = Split(m, m.Input({2, 1, 5}), {1, 1});
  m.Output(Squeezed(m, parts[0]));
  m.Output(Squeezed(m, parts[1], 1));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
