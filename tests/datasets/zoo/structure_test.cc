// What must hold of the networks whatever their numbers are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "foretell/features.h"
#include "tests/datasets/zoo/trace_network.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using zoo_test::TraceNetwork;

StaticFeatures Statics(const std::string& name, std::int64_t batch) {
  return CountStaticFeatures(TraceNetwork(name, batch).graph);
}

std::int64_t CountNodes(const Trace& trace, std::string_view target) {
  const auto& nodes = trace.graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return node.target == target; });
}

std::vector<std::int64_t> OutputDims(const std::string& name,
                                     std::int64_t batch) {
  return TraceNetwork(name, batch).outputs.at(0).type.shape;
}

TEST(Vgg, ConvolutionsDoFourTimesTheWorkAtTwiceTheSize) {
  // The dense layers see 7×7 images whatever the input.
  constexpr std::int64_t kDense =
      512 * 7 * 7 * 4096 + 4096 * 4096 + 4096 * 1000;
  const std::int64_t small = Statics("vgg11?image_size=64", 1).macs - kDense;
  const std::int64_t large = Statics("vgg11?image_size=128", 1).macs - kDense;
  EXPECT_EQ(large, 4 * small);
}

TEST(Zoo, TwiceTheBatchIsTwiceTheWork) {
  for (const char* name :
       {"efficientnet_b0", "mnasnet0_5", "mobilenet_v3_small", "vgg11_bn",
        "densenet121", "convnext_tiny", "regnet_y_400mf", "inception_v3",
        "unet?image_size=64", "unet3d?edge=16", "weather_downscaling",
        "weather_cnn?height=16&width=16", "weather_radiation_rnn?height=8"}) {
    SCOPED_TRACE(name);
    const StaticFeatures one = Statics(name, 3);
    const StaticFeatures two = Statics(name, 6);
    EXPECT_GT(one.macs, 0);
    EXPECT_EQ(two.macs, 2 * one.macs);
    EXPECT_EQ(two.convolutions, one.convolutions);
  }
}

TEST(UNet, HasTheWeightsCountedByHand) {
  // Encoder 18,847,168, decoder 12,190,400, result 65.
  EXPECT_EQ(zoo::Load("unet?classes=1").parameter_elements(), 31'037'633);
}

TEST(UNet3d, HasThePublishedWeights) {
  EXPECT_EQ(zoo::Load("unet3d?batch_norm=false").parameter_elements(),
            19'069'955);
}

TEST(UNet3d, HasTheWeightsOfAPublishedStudyWhereItDoublesEarly) {
  // Trainable ones: its framework counts 2,944 running statistics besides.
  EXPECT_EQ(zoo::Load("unet3d?width=16&depth=4&channels=1&classes=1"
                      "&doubles_late=false")
                .parameter_elements(),
            5'647'857);
}

TEST(UNet, ResultHasTheImagesSize) {
  EXPECT_THAT(OutputDims("unet?image_size=64", 2), ElementsAre(2, 2, 64, 64));
  EXPECT_THAT(OutputDims("unet3d?edge=16", 2), ElementsAre(2, 3, 16, 16, 16));
}

TEST(Weather, ResultsStandOnTheInputsGrid) {
  EXPECT_THAT(OutputDims("weather_unet", 1), ElementsAre(1, 3, 512, 512));
  EXPECT_THAT(OutputDims("weather_cnn", 1), ElementsAre(1, 2, 361, 720));
  EXPECT_THAT(OutputDims("weather_downscaling", 1), ElementsAre(1, 1, 96, 120));
  EXPECT_THAT(OutputDims("weather_radiation_rnn", 4), ElementsAre(4, 137, 3));
}

TEST(Weather, DownscalingHasThePublishedConvolutions) {
  // Two in the first level and one in three others; three levels of raising
  // and two each; the result.
  EXPECT_EQ(Statics("weather_downscaling", 1).convolutions,
            2 + 3 + 3 * (1 + 2) + 1);
}

TEST(Detr, HasThePublishedNumbersOfTrainedParameters) {
  // 41,302,368 is what facebookresearch/detr prints. The stem and the first
  // stage are not trained, and norms are fixed.
  EXPECT_EQ(zoo::Load("detr_resnet50").parameter_elements(), 41'302'368);
  EXPECT_EQ(zoo::Load("detr_resnet50_dc5").parameter_elements(), 41'302'368);
  // Seventeen more bottlenecks of 256 inner channels.
  EXPECT_EQ(zoo::Load("detr_resnet101").parameter_elements(),
            41'302'368 + 17 * (2 * 1024 * 256 + 9 * 256 * 256));
}

TEST(Detr, DoesAboutThePublishedWork) {
  // Published: 86 GFLOPS, the mean over images of COCO, whose shorter side is
  // 800 and whose longer is 1,333 at most; 187 where the last stage dilates.
  EXPECT_GT(Statics("detr_resnet50", 1).macs, 86e9);
  EXPECT_LT(Statics("detr_resnet50", 1).macs, 86e9 * 1.2);
  EXPECT_LT(Statics("detr_resnet50?width=1066", 1).macs, 86e9);
  EXPECT_GT(Statics("detr_resnet50?width=1066", 1).macs, 86e9 * 0.85);
  EXPECT_GT(Statics("detr_resnet50_dc5", 1).macs, 187e9);
  EXPECT_LT(Statics("detr_resnet50_dc5?width=1066", 1).macs, 187e9);
}

TEST(Detr, GivesAClassAndABoxForEveryQuery) {
  const Trace trace = TraceNetwork("detr_resnet50?height=96&width=128", 2);
  EXPECT_THAT(trace.outputs.at(0).type.shape, ElementsAre(2, 100, 92));
  EXPECT_THAT(trace.outputs.at(1).type.shape, ElementsAre(2, 100, 4));
  // One in a layer of the encoder, two in one of the decoder: weights are asked
  // for, so nothing is fused.
  EXPECT_EQ(CountNodes(trace, "softmax"), 6 + 2 * 6);
}

TEST(Detr, RunsInSixteenBits) {
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    const Trace trace = TraceNetwork("detr_resnet50?height=96&width=128", 1,
                                     Mode::kInference, precision);
    EXPECT_EQ(ByteWidth(trace.outputs.at(0).type.dtype), 2);
  }
}

TEST(ConvNext, DrawsPathsOnlyInTraining) {
  // The first of 18 blocks is never dropped.
  const std::string name = "convnext_tiny?image_size=32";
  EXPECT_EQ(CountNodes(TraceNetwork(name, 2, Mode::kTraining), "bernoulli_"),
            17);
  EXPECT_EQ(CountNodes(TraceNetwork(name, 2), "bernoulli_"), 0);
}

TEST(DenseNet, JoinsAllEarlierResultsBeforeEveryLayer) {
  // 6 + 12 + 24 + 16 layers, and the ends of four blocks.
  EXPECT_EQ(CountNodes(TraceNetwork("densenet121", 1), "cat"), 58 + 4);
}

}  // namespace
}  // namespace foretell
