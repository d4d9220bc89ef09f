#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// 1 + erf(x / divisor).
std::string ErfGate(ModelBuilder& m, const std::string& x,
                    double divisor = std::sqrt(2.0)) {
  const std::string scaled = m.Op("Div", {x, m.Number(divisor)});
  return m.Op("Add", {m.Op("Erf", {scaled}), m.Number(1)});
}

/// 1 + tanh(√(2/π) (x + 0.044715 x³)), the cube as the exporter writes it.
std::string TanhGate(ModelBuilder& m, const std::string& x,
                     double factor = 0.044715) {
  const std::string cube = m.Op("Mul", {x, m.Op("Mul", {x, x})});
  const std::string term = m.Op("Mul", {m.Number(factor), cube});
  const std::string inner =
      m.Op("Mul", {m.Number(0.7978845608028654), m.Op("Add", {x, term})});
  return m.Op("Add", {m.Number(1), m.Op("Tanh", {inner})});
}

TEST(ActivationFusion, ExportedErfGeluBecomesOneOperator) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  const std::string product = m.Op("Mul", {x, ErfGate(m, x)});
  m.Output(m.Op("Mul", {product, m.Number(0.5)}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Gelu"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ActivationFusion, ExportedTanhGeluBecomesOneOperator) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  const std::string product = m.Op("Mul", {x, TanhGate(m, x)});
  m.Output(m.Op("Mul", {m.Number(0.5), product}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Gelu"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ActivationFusion, CubeMayBeAPower) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  const std::string cube = m.Op("Pow", {x, m.Number(3)});
  const std::string term = m.Op("Mul", {cube, m.Number(0.044715)});
  const std::string inner =
      m.Op("Mul", {m.Op("Add", {x, term}), m.Number(0.797885)});
  const std::string gate = m.Op("Add", {m.Op("Tanh", {inner}), m.Number(1)});
  m.Output(m.Op("Mul", {m.Number(0.5), m.Op("Mul", {x, gate})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Gelu"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ActivationFusion, GeluThatTheModelGroupsItselfStaysUnlessAskedFor) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  const std::string half = m.Op("Mul", {x, m.Number(0.5)});
  m.Output(m.Op("Mul", {half, ErfGate(m, x)}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
  EXPECT_THAT(Rewritten(m.model(), Fusion::kEquivalent),
              ElementsAre("foretell.Gelu"));
  EXPECT_TRUE(ComputesTheSame(m.model(), Fusion::kEquivalent));
}

TEST(ActivationFusion, HalvedGateIsAnEquivalentForm) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  const std::string half = m.Op("Mul", {m.Number(0.5), TanhGate(m, x)});
  m.Output(m.Op("Mul", {half, x}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), ElementsAre("Gelu"));
  EXPECT_TRUE(ComputesTheSame(m.model(), Fusion::kEquivalent));
}

TEST(ActivationFusion, WrongConstantsAreNoGelu) {
  for (const double divisor : {1 / 0.70, 1.5, -std::sqrt(2.0)}) {
    ModelBuilder m;
    const std::string x = m.Input({4});
    const std::string product = m.Op("Mul", {x, ErfGate(m, x, divisor)});
    m.Output(m.Op("Mul", {product, m.Number(0.5)}));
    EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty()) << divisor;
  }
  ModelBuilder m;
  const std::string x = m.Input({4});
  const std::string product = m.Op("Mul", {x, TanhGate(m, x, 0.0447)});
  m.Output(m.Op("Mul", {product, m.Number(0.5)}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

TEST(ActivationFusion, GateOfAnotherValueIsNoGelu) {
  ModelBuilder m;
  const std::string x = m.Input({4});
  const std::string other = m.Input({4});
  const std::string product = m.Op("Mul", {x, ErfGate(m, other)});
  m.Output(m.Op("Mul", {product, m.Number(0.5)}));
  EXPECT_THAT(Fused(m.model(), Fusion::kEquivalent), IsEmpty());
}

TEST(ActivationFusion, PatternStaysWhenItsInsideIsReadElsewhere) {
  ModelBuilder m;
  const std::string x = m.Input({4});
  const std::string gate = ErfGate(m, x);
  const std::string product = m.Op("Mul", {x, gate});
  m.Output(m.Op("Mul", {product, m.Number(0.5)}));
  m.Output(m.Op("Relu", {gate}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(ActivationFusion, PatternStaysWhenItsInsideIsAnOutput) {
  ModelBuilder m;
  const std::string x = m.Input({4});
  const std::string sigmoid = m.Op("Sigmoid", {x});
  m.Output(sigmoid);
  m.Output(m.Op("Mul", {x, sigmoid}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(ActivationFusion, InputTimesItsSigmoidIsSilu) {
  for (const bool is_swapped : {false, true}) {
    ModelBuilder m;
    const std::string x = m.Input({2, 9});
    const std::string sigmoid = m.Op("Sigmoid", {x});
    m.Output(is_swapped ? m.Op("Mul", {sigmoid, x})
                        : m.Op("Mul", {x, sigmoid}));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Silu"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(ActivationFusion, AGateOfAnotherValueIsNoSilu) {
  ModelBuilder m;
  const std::string x = m.Input({4});
  const std::string gate = m.Op("Sigmoid", {m.Input({4})});
  m.Output(m.Op("Mul", {x, gate}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

/// Softplus of x below a threshold, as the newer exporter writes it.
std::string ThresholdedSoftplus(ModelBuilder& m, const std::string& x,
                                float threshold) {
  const std::string above = m.Op("Greater", {x, m.Number(threshold)});
  return m.Op("Where", {above, x, m.Op("Softplus", {x})});
}

TEST(ActivationFusion, ThresholdedSoftplusIsSoftplus) {
  ModelBuilder m;
  m.Output(ThresholdedSoftplus(m, m.Input({2, 5}), 20));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Softplus"));
  EXPECT_TRUE(ComputesTheSame(m.model()));

  ModelBuilder other;
  other.Output(ThresholdedSoftplus(other, other.Input({2, 5}), 1));
  EXPECT_THAT(Fused(other.model()), IsEmpty());
}

TEST(ActivationFusion, InputTimesTanhOfSoftplusIsMish) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  m.Output(m.Op("Mul", {x, m.Op("Tanh", {m.Op("Softplus", {x})})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.Mish"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ActivationFusion, InputTimesItsHardSigmoidIsHardSwish) {
  ModelBuilder m;
  const std::string x = m.Input({2, 9});
  m.Output(m.Op("Mul",
                {x, m.Op("HardSigmoid", {x}, {MakeFloat("alpha", 1.0 / 6)})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.HardSwish"));
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(ActivationFusion, HardSigmoidOfSlopeOneFifthIsNoHardSwish) {
  ModelBuilder m;
  const std::string x = m.Input({4});
  m.Output(m.Op("Mul", {x, m.Op("HardSigmoid", {x})}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

std::string ClipOfShifted(ModelBuilder& m, const std::string& x,
                          double shift = 3) {
  return m.Op("Clip",
              {m.Op("Add", {x, m.Number(shift)}), m.Number(0), m.Number(6)});
}

TEST(ActivationFusion, ClippedHardSwishIsRecognisedInEveryGrouping) {
  using Form = std::string (*)(ModelBuilder&, const std::string& x);
  const Form forms[] = {
      [](ModelBuilder& m, const std::string& x) {
        const std::string product = m.Op("Mul", {x, ClipOfShifted(m, x)});
        return m.Op("Div", {product, m.Number(6)});
      },
      [](ModelBuilder& m, const std::string& x) {
        const std::string gate =
            m.Op("Div", {ClipOfShifted(m, x), m.Number(6)});
        return m.Op("Mul", {x, gate});
      },
      [](ModelBuilder& m, const std::string& x) {
        const std::string gate =
            m.Op("Mul", {ClipOfShifted(m, x), m.Number(1.0 / 6)});
        return m.Op("Mul", {gate, x});
      }};
  for (const Form form : forms) {
    ModelBuilder m(13);
    m.Output(form(m, m.Input({2, 9})));
    EXPECT_THAT(Rewritten(m.model()), ElementsAre("foretell.HardSwish"));
    EXPECT_TRUE(ComputesTheSame(m.model()));
  }
}

TEST(ActivationFusion, ClipOfAnotherShiftIsNoHardSwish) {
  ModelBuilder m(13);
  const std::string x = m.Input({4});
  const std::string product = m.Op("Mul", {x, ClipOfShifted(m, x, 2.5)});
  m.Output(m.Op("Div", {product, m.Number(6)}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
