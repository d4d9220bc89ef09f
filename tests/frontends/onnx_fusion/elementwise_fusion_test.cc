#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// x + (a · b) · value as the exporter writes torch.addcmul; `turned`: with the
/// operands of both products and of the sum the other way round.
std::string ScaledProductAdded(ModelBuilder& m, float value, bool turned) {
  const std::string x = m.Input({5});
  const std::string a = m.Input({5}), b = m.Input({2, 3, 5});
  const std::string product = m.Op("Mul", {a, b});
  const std::string one = m.Number(value);
  if (turned) return m.Op("Add", {m.Op("Mul", {one, product}), x});
  return m.Op("Add", {x, m.Op("Mul", {product, one})});
}

TEST(ElementwiseFusion, ProductTimesOneAddedIsAddcmul) {
  for (const bool turned : {false, true}) {
    ModelBuilder m;
    m.Output(ScaledProductAdded(m, 1, turned));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Addcmul"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(ElementwiseFusion, ProductTimesAnotherNumberStays) {
  ModelBuilder m;
  m.Output(ScaledProductAdded(m, 0.5F, false));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(ElementwiseFusion, ProductThatIsReadElsewhereStays) {
  ModelBuilder m;
  const std::string x = m.Input({5});
  const std::string product = m.Op("Mul", {x, x});
  m.Output(product);
  m.Output(m.Op("Add", {x, m.Op("Mul", {product, m.Number(1)})}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
