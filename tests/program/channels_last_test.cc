#include "src/program/channels_last.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/trace.h"
#include "src/graph/strides.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/networks.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Image;
using program_test::Layers;
using program_test::Simple;
using testing::ElementsAre;
using testing::IsEmpty;

at::Tensor Plain(at::IntArrayRef sizes, at::Device device) {
  return at::empty(sizes, at::TensorOptions().device(device));
}

class ToChannelsLastOn : public testing::TestWithParam<const char*> {
 protected:
  at::Device device() const { return at::Device(std::string(GetParam())); }
};

TEST_P(ToChannelsLastOn, ConvertsWhatHasFourDimensions) {
  const at::Tensor image = Plain({2, 3, 5, 7}, device());
  ToChannelsLast(image);
  EXPECT_THAT(image.strides().vec(), ElementsAre(105, 1, 21, 3));
  // What only the strides of dimensions of size 1 show.
  const at::Tensor weight = Plain({8, 64, 1, 1}, device());
  ToChannelsLast(weight);
  EXPECT_THAT(weight.strides().vec(), ElementsAre(64, 1, 64, 64));
  EXPECT_EQ(weight.suggest_memory_format(), at::MemoryFormat::ChannelsLast);
  const at::Tensor volume = Plain({2, 3, 5, 7, 2}, device());
  ToChannelsLast(volume);
  EXPECT_TRUE(volume.is_contiguous());
  const at::Tensor matrix = Plain({4, 6}, device()).t();
  ToChannelsLast(matrix);
  EXPECT_THAT(matrix.strides().vec(), ElementsAre(1, 6));
}

INSTANTIATE_TEST_SUITE_P(Devices, ToChannelsLastOn,
                         testing::Values("cpu", "meta"));

TEST(ToChannelsLast, KeepsTheValuesAndTheirStorageOnMeta) {
  const at::Tensor image = at::randn({2, 3, 5, 7});
  const at::Tensor before = image.clone();
  ToChannelsLast(image);
  EXPECT_TRUE(at::equal(image, before));
  const at::Tensor meta = Plain({2, 3, 5, 7}, at::kMeta);
  const c10::Storage storage = meta.storage();
  ToChannelsLast(meta);
  EXPECT_EQ(meta.storage().unsafeGetStorageImpl(),
            storage.unsafeGetStorageImpl());
}

TEST(ToChannelsLast, ConvertsParametersThatRequireGradients) {
  const Program network =
      FakeProgram("net", {Image(2, 8, 6)}, Simple([](Layers& layers) {
                    return layers.Conv(8, 16, {3, 3});
                  }));
  const std::unique_ptr<ProgramInstance> instance =
      network.Instantiate({.device = at::kCPU, .mode = Mode::kTraining});
  const at::Tensor weight = instance->Parameters().front().tensor;
  const at::Tensor before = weight.detach().clone();
  ToChannelsLast(*instance);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_TRUE(weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::equal(weight, before));
}

program_test::Network ConvolutionsAndRelu() {
  return Simple([](Layers& layers) {
    return Chain({layers.Conv(8, 16, {3, 3}),
                  [](const at::Tensor& x) { return at::relu(x); },
                  layers.Conv(16, 8, {1, 1})});
  });
}

OperatorGraph TraceInFormat(const program_test::Network& network,
                            const TraceOptions& options) {
  const std::vector<BoundInput> inputs = {Image(2, 8, 6)};
  return TraceProgram(FakeProgram("net", inputs, network), inputs, options)
      .graph;
}

std::vector<std::string> StridesOfResults(const OperatorGraph& graph) {
  std::vector<std::string> texts;
  for (const Node& node : graph.nodes()) {
    const Value& value = graph.value(node.outputs.front());
    texts.push_back(testing::PrintToString(value.strides));
  }
  return texts;
}

TEST(ChannelsLastTrace, HandsTheFormatOn) {
  const OperatorGraph graph =
      TraceInFormat(ConvolutionsAndRelu(), {.run = {.channels_last = true}});
  EXPECT_TRUE(graph.info().channels_last);
  for (const Value& value : graph.values()) {
    if (value.type.shape.size() != 4) continue;
    EXPECT_TRUE(SuggestsChannelsLast(value.type.shape, StridesOf(value)))
        << value.name;
  }
  EXPECT_EQ(PrintGraph(ParseGraph(PrintGraph(graph))), PrintGraph(graph));
}

TEST(ChannelsLastTrace, IsNotAsked) {
  const OperatorGraph graph = TraceInFormat(ConvolutionsAndRelu(), {});
  EXPECT_FALSE(graph.info().channels_last);
  for (const Value& value : graph.values()) {
    EXPECT_THAT(value.strides, IsEmpty()) << value.name;
  }
}

// Metamorphic: the format changes where elements lie, and nothing else.
TEST(ChannelsLastTrace, DiffersInStridesAlone) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const OperatorGraph plain =
        TraceInFormat(ConvolutionsAndRelu(), {.run = {.mode = mode}});
    const OperatorGraph converted = TraceInFormat(
        ConvolutionsAndRelu(), {.run = {.mode = mode, .channels_last = true}});
    EXPECT_EQ(TargetsOf(converted), TargetsOf(plain));
    EXPECT_EQ(converted.events().size(), plain.events().size());
    ASSERT_EQ(converted.storages().size(), plain.storages().size());
    for (std::size_t i = 0; i < plain.storages().size(); ++i) {
      EXPECT_EQ(converted.storages()[i].bytes, plain.storages()[i].bytes);
      EXPECT_EQ(converted.storages()[i].role, plain.storages()[i].role);
    }
  }
}

TEST(RecordedStridesOfATrace, AreThoseOfItsTensors) {
  const auto views = program_test::Stateless([](const at::Tensor& x) {
    const at::Tensor turned = x.transpose(1, 3);             // A view.
    const at::Tensor cut = turned.slice(1, 0, 6, 2);         // With gaps.
    const at::Tensor sum = cut + 1;                          // In its order.
    const at::Tensor rows = sum.reshape({2, -1});            // A copy.
    return rows.unsqueeze(0).expand({3, 2, rows.size(-1)});  // Repeated.
  });
  EXPECT_THAT(StridesOfResults(TraceInFormat(views, {})),
              ElementsAre("{ 288, 1, 6, 36 }", "{ 288, 2, 6, 36 }",
                          "{ 144, 1, 3, 18 }", "{}", "{}", "{ 0, 144, 1 }"));
}

}  // namespace
}  // namespace foretell
