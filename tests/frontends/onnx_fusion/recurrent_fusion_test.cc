#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kInputSize = 3;
constexpr std::int64_t kStateSize = 4;

using Gates = std::vector<std::int64_t>;

/// Gates of a weight in an order of their own, as exporters take them.
std::string Reordered(ModelBuilder& m, const std::string& weight,
                      const Gates& gates) {
  std::vector<std::string> parts;
  for (const std::int64_t gate : gates) {
    parts.push_back(m.Op(
        "Slice", {weight, m.Integers({gate * kStateSize}),
                  m.Integers({(gate + 1) * kStateSize}), m.Integers({0})}));
  }
  return m.Op("Concat", parts, {MakeInt("axis", 0)});
}

std::string Unsqueezed(ModelBuilder& m, const std::string& x) {
  return m.Op("Unsqueeze", {x, m.Integers({0})});
}

/// A layer of `directions` whose weights have the gates `order` in `rows` rows.
struct Layer {
  std::string_view op = "LSTM";
  Gates order = {0, 3, 1, 2};
  std::int64_t rows = 4 * kStateSize;
  std::int64_t directions = 1;
  std::vector<Attribute> attributes = {};
};

std::string Write(ModelBuilder& m, const Layer& layer) {
  const auto all = [&](const auto& of_direction) {
    std::vector<std::string> parts;
    for (std::int64_t d = 0; d < layer.directions; ++d) {
      parts.push_back(Unsqueezed(m, of_direction()));
    }
    return parts.size() == 1 ? parts[0]
                             : m.Op("Concat", parts, {MakeInt("axis", 0)});
  };
  const auto weight = [&](std::vector<std::int64_t> shape) {
    return Reordered(m, m.RandomWeight(std::move(shape)), layer.order);
  };
  std::vector<Attribute> attributes = layer.attributes;
  attributes.push_back(MakeInt("hidden_size", kStateSize));
  if (layer.directions == 2) {
    attributes.push_back(MakeString("direction", "bidirectional"));
  }
  const std::string x = m.Input({5, 2, kInputSize});
  const std::string w = all([&] { return weight({layer.rows, kInputSize}); });
  const std::string r = all([&] { return weight({layer.rows, kStateSize}); });
  const std::string b = all([&] {
    const std::string input = weight({layer.rows});
    return m.Op("Concat", {input, weight({layer.rows})}, {MakeInt("axis", 0)});
  });
  return m.Op(std::string(layer.op), {x, w, r, b}, attributes);
}

TEST(RecurrentFusion, ReadsWeightsAsPyTorchKeepsThem) {
  for (const std::int64_t directions : {1, 2}) {
    ModelBuilder lstm;
    lstm.Output(Write(lstm, {.directions = directions}));
    EXPECT_THAT(Rewritten(lstm.model()), ElementsAre("foretell.LSTM"));
    EXPECT_TRUE(ComputesTheSame(lstm.model()));

    ModelBuilder gru;
    gru.Output(Write(gru, {.op = "GRU",
                           .order = {1, 0, 2},
                           .rows = 3 * kStateSize,
                           .directions = directions,
                           .attributes = {MakeInt("linear_before_reset", 1)}}));
    EXPECT_THAT(Rewritten(gru.model()), ElementsAre("foretell.GRU"));
    EXPECT_TRUE(ComputesTheSame(gru.model()));

    ModelBuilder rnn;
    rnn.Output(Write(rnn, {.op = "RNN",
                           .order = {0},
                           .rows = kStateSize,
                           .directions = directions}));
    EXPECT_THAT(Rewritten(rnn.model()), ElementsAre("foretell.RNN"));
    EXPECT_TRUE(ComputesTheSame(rnn.model()));
  }
}

TEST(RecurrentFusion, OtherOrdersAndRowsStay) {
  ModelBuilder order;
  order.Output(Write(order, {.order = {0, 1, 2, 3}}));
  EXPECT_THAT(Fused(order.model()), IsEmpty());

  // A cell of PyTorch with a projection has more rows than are read.
  ModelBuilder rows;
  rows.Output(Write(rows, {.rows = 6 * kStateSize}));
  EXPECT_THAT(Fused(rows.model()), IsEmpty());
}

TEST(RecurrentFusion, LayersThatPyTorchLacksStay) {
  ModelBuilder clipped;
  clipped.Output(Write(clipped, {.attributes = {MakeFloat("clip", 1)}}));
  EXPECT_THAT(Fused(clipped.model()), IsEmpty());

  ModelBuilder resets_first;
  resets_first.Output(Write(
      resets_first, {.op = "GRU", .order = {1, 0, 2}, .rows = 3 * kStateSize}));
  EXPECT_THAT(Fused(resets_first.model()), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
