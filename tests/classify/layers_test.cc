#include "src/classify/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"

namespace foretell::classify {
namespace {

using ::testing::ElementsAre;

constexpr char kNetwork[] = R"(
    graph batch=2
    %x = input f32[2,3,8,8]
    %a = conv2d(%x, weight f32[4,3,3,3], weight f32[4]) : f32[2,4,6,6]
    %b = batch_norm(%a, weight f32[4], weight f32[4]) : f32[2,4,6,6]
    %c = elu(%b) : f32[2,4,6,6]
    %d = add(%c, %c) : f32[2,4,6,6]
    %e = dropout(%d) : f32[2,4,6,6]
    %f = flatten(%e) : f32[2,144] alias %e
    %g = linear(%f, weight f32[5,144], weight f32[5]) : f32[2,5]
    phase backward
    %h = elu(%g) : f32[2,5])";

TEST(Layers, AreThoseOfTheForwardPassPerSample) {
  EXPECT_THAT(LayersOf(ParseGraph(kNetwork)),
              ElementsAre(Layer{LayerKind::kConvolution, 144, 112},
                          Layer{LayerKind::kBatchNorm, 144, 8},
                          Layer{LayerKind::kActivation, 144, 0},
                          Layer{LayerKind::kDropout, 144, 0},
                          Layer{LayerKind::kLinear, 5, 725}));
}

TEST(Layers, OfOtherOperatorsWithTheSameMeaningAreTheSame) {
  EXPECT_THAT(LayersOf(ParseGraph("graph batch=3\n"
                                  "%w = parameter f32[5,4]\n"
                                  "%t = t(%w) : f32[4,5] alias %w\n"
                                  "%y = addmm(weight f32[5], input f32[3,4], "
                                  "%t) : f32[3,5]")),
              ElementsAre(Layer{LayerKind::kLinear, 5, 25}));
}

TEST(Layers, CountAWeightThatIsReadTwiceOnce) {
  EXPECT_THAT(LayersOf(ParseGraph("graph batch=1\n"
                                  "%w = parameter f32[4]\n"
                                  "%y = layer_norm(input f32[1,4], %w, %w) : "
                                  "f32[1,4]")),
              ElementsAre(Layer{LayerKind::kOtherNorm, 4, 4}));
}

TEST(ActivationFunction, IsTheOneOfMostOperators) {
  EXPECT_EQ(ActivationOf(ParseGraph("%a = relu(input f32[2]) : f32[2]\n"
                                    "%b = mish_(%a) : f32[2] alias %a\n"
                                    "%c = mish(%b) : f32[2]")),
            ActivationFunction::kMish);
  EXPECT_EQ(ActivationOf(ParseGraph(kNetwork)), ActivationFunction::kElu);
}

TEST(ActivationFunction, IsIdentityWithoutAny) {
  EXPECT_EQ(ActivationOf(ParseGraph("%a = add(input f32[2], input f32[2]) : "
                                    "f32[2]")),
            ActivationFunction::kIdentity);
}

}  // namespace
}  // namespace foretell::classify
