// What must follow from batch and sequence, and the shapes of attention.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "foretell/error.h"
#include "tests/datasets/zoo/transformers_test.h"

namespace foretell {
namespace {

using testing::HasSubstr;

using Shape = std::vector<std::int64_t>;

TEST(TransformerScaling, MacsGrowWithTheBatch) {
  for (const char* name :
       {"vit_tiny_patch16_224?image_size=64", "swin?image_size=56",
        "visformer_tiny?image_size=64", "poolformer_s12?image_size=64",
        "mixer?image_size=64", "mlp_small", "bert?depth=2&seq=8",
        "gpt2?depth=2&seq=8", "t5_small?seq=8", "lstm_medium?seq=8",
        "gru_classifier?seq=8"}) {
    SCOPED_TRACE(name);
    const std::int64_t macs = TraceZoo(name, 3).graph.ForwardMacs();
    EXPECT_GT(macs, 0);
    EXPECT_EQ(TraceZoo(name, 6).graph.ForwardMacs(), 2 * macs);
  }
}

TEST(TransformerScaling, PositionsOfDebertaDoNotGrowWithTheBatch) {
  const std::string name = "deberta?depth=2&seq=8";
  const std::int64_t one = TraceZoo(name, 1).graph.ForwardMacs();
  const std::int64_t two = TraceZoo(name, 2).graph.ForwardMacs();
  const std::int64_t three = TraceZoo(name, 3).graph.ForwardMacs();
  EXPECT_EQ(three - two, two - one);
  // Two projections of 512 distances in each of two layers.
  EXPECT_EQ(one - (two - one), 2 * 2 * 512 * 768 * 768);
}

/// The kind that a family's fully connected layers have.
struct SequenceCase {
  const char* name;
  OpKind dense;
  std::int64_t fixed_macs;  ///< Of dense layers that see one token.
};

TEST(TransformerScaling, ProductsOfAttentionGrowWithTheSquareOfTheSequence) {
  for (const SequenceCase& c :
       {SequenceCase{"bert?depth=2&seq=", OpKind::kLinear, 768 * 768},
        SequenceCase{"gpt2?depth=2&seq=", OpKind::kMatmul, 0},
        SequenceCase{"t5_small?depth=2&seq=", OpKind::kLinear, 0}}) {
    SCOPED_TRACE(c.name);
    const Trace base = TraceZoo(std::string(c.name) + "16", 1);
    const Trace twice = TraceZoo(std::string(c.name) + "32", 1);
    EXPECT_GT(MacsOf(base.graph, OpKind::kAttention), 0);
    EXPECT_EQ(MacsOf(twice.graph, OpKind::kAttention),
              4 * MacsOf(base.graph, OpKind::kAttention));
    EXPECT_EQ(MacsOf(twice.graph, c.dense) - c.fixed_macs,
              2 * (MacsOf(base.graph, c.dense) - c.fixed_macs));
  }
}

TEST(TransformerScaling, RecurrentLayersGrowWithTheSequence) {
  EXPECT_EQ(TraceZoo("lstm_medium?seq=20", 2).graph.ForwardMacs(),
            2 * TraceZoo("lstm_medium?seq=10", 2).graph.ForwardMacs());
}

/// The first node of `kind`.
const Node& First(const OperatorGraph& graph, OpKind kind) {
  for (const Node& node : graph.nodes()) {
    if (node.kind == kind) return node;
  }
  throw std::runtime_error("no such node");
}

Shape ShapeOf(const OperatorGraph& graph, ValueId value) {
  return graph.value(value).type.shape;
}

TEST(Gpt, AttendsCausallyOverHeads) {
  const Trace trace = TraceZoo("gpt2?depth=3&seq=10", 2);
  EXPECT_EQ(CountOf(trace.graph, OpKind::kAttention), 3);
  const Node& attention = First(trace.graph, OpKind::kAttention);
  EXPECT_EQ(attention.Int("is_causal", 0), 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ShapeOf(trace.graph, attention.inputs[i]),
              (Shape{2, 12, 10, 64}));
  }
  EXPECT_EQ(trace.outputs.front().type.shape, (Shape{2, 10, 768}));
}

TEST(Gpt, CopiesKeysAndValuesOnlyForItsCache) {
  EXPECT_EQ(CountOf(TraceZoo("gpt2?depth=3&seq=10", 2).graph, OpKind::kConcat),
            6);
  EXPECT_EQ(CountOf(TraceZoo("gpt2?depth=3&seq=10&use_cache=false", 2).graph,
                    OpKind::kConcat),
            0);
}

TEST(Bert, AttendsToAllTokens) {
  const Trace trace = TraceZoo("bert?depth=2&seq=10", 3);
  const Node& attention = First(trace.graph, OpKind::kAttention);
  EXPECT_EQ(attention.Int("is_causal", 0), 0);
  EXPECT_EQ(attention.inputs.size(), 3u);
  EXPECT_EQ(ShapeOf(trace.graph, attention.inputs[0]), (Shape{3, 12, 10, 64}));
  ASSERT_EQ(trace.outputs.size(), 2u);
  EXPECT_EQ(trace.outputs[0].type.shape, (Shape{3, 10, 768}));
  EXPECT_EQ(trace.outputs[1].type.shape, (Shape{3, 768}));
}

TEST(T5, AddsABiasPerDistanceToAttention) {
  const Trace trace = TraceZoo("t5_small?depth=2&seq=10", 3);
  EXPECT_EQ(CountOf(trace.graph, OpKind::kAttention), 2);
  const Node& attention = First(trace.graph, OpKind::kAttention);
  ASSERT_EQ(attention.inputs.size(), 4u);
  EXPECT_EQ(ShapeOf(trace.graph, attention.inputs[3]), (Shape{1, 8, 10, 10}));
}

TEST(T5, EagerAttentionHasTheSameProducts) {
  const Trace fused = TraceZoo("t5_small?seq=10", 3);
  const Trace eager = TraceZoo("t5_small?seq=10&attention=eager", 3);
  EXPECT_EQ(CountOf(eager.graph, OpKind::kAttention), 0);
  EXPECT_EQ(CountOf(eager.graph, OpKind::kSoftmax), 6);
  EXPECT_EQ(eager.graph.ForwardMacs(), fused.graph.ForwardMacs());
}

TEST(Deberta, PicksTwoScoresPerPairAndLayer) {
  const Trace trace = TraceZoo("deberta?depth=3&seq=10", 2);
  EXPECT_EQ(CountOf(trace.graph, OpKind::kAttention), 0);
  int gathers = 0;
  for (const Node& node : trace.graph.nodes()) {
    if (node.target != "gather") continue;
    ++gathers;
    EXPECT_EQ(ShapeOf(trace.graph, node.inputs[0]), (Shape{24, 10, 512}));
    EXPECT_EQ(ShapeOf(trace.graph, node.outputs[0]), (Shape{24, 10, 10}));
  }
  EXPECT_EQ(gathers, 6);
}

TEST(Vit, SeesItsClassTokenBesideThePatches) {
  const Trace trace = TraceZoo("vit_tiny_patch16_224?image_size=64", 2);
  const Node& attention = First(trace.graph, OpKind::kAttention);
  EXPECT_EQ(ShapeOf(trace.graph, attention.inputs[0]),
            (Shape{2, 3, 4 * 4 + 1, 64}));
}

/// What zoo::Load says of `name`.
std::string ErrorOf(const std::string& name) {
  try {
    zoo::Load(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(TransformerConfiguration, RefusesWhatHasNoNetwork) {
  EXPECT_THAT(ErrorOf("vit?image_size=100"),
              HasSubstr("image_size=100: expected a multiple of 16"));
  EXPECT_THAT(ErrorOf("vit?heads=7"),
              HasSubstr("width 768 is not a multiple of heads=7"));
  EXPECT_THAT(ErrorOf("swin?layers=2,2"), HasSubstr("layers has 2 stages"));
  EXPECT_THAT(ErrorOf("visformer?image_size=100"),
              HasSubstr("expected a multiple of 32"));
  EXPECT_THAT(ErrorOf("bert?seq=513"), HasSubstr("seq=513"));
  EXPECT_THAT(ErrorOf("gpt2?seq=1025"), HasSubstr("seq=1025"));
  EXPECT_THAT(ErrorOf("t5?attention=flash"), HasSubstr("attention=flash"));
  EXPECT_THAT(ErrorOf("rnn?cell=elman"), HasSubstr("cell=elman"));
  EXPECT_THAT(ErrorOf("mlp?activation=no"), HasSubstr("activation 'no'"));
}

TEST(Swin, FillsTheLastWindowsOfImagesThatAreNoMultiple) {
  // 40 tokens a side are six windows of 7, two tokens too many.
  const Trace trace = TraceZoo("swin?image_size=160", 2);
  const Node& scores = First(trace.graph, OpKind::kMatmul);
  EXPECT_EQ(ShapeOf(trace.graph, scores.inputs[0]),
            (Shape{2 * 6 * 6, 3, 49, 32}));
  EXPECT_EQ(trace.outputs.front().type.shape, (Shape{2, 1000}));
}

TEST(TransformerSweeps, HaveTheirPoints) {
  EXPECT_EQ(zoo::ListSweep("language").size(), 408u);
  EXPECT_EQ(zoo::ListSweep("mlp").size(), 144u);
  std::map<std::string, int> counts;
  for (const zoo::SweepPoint& point : zoo::ListSweep("dippm")) {
    ++counts[point.family];
  }
  EXPECT_EQ(counts["swin"], 547);
  EXPECT_EQ(counts["vit"], 520);
  EXPECT_EQ(counts["visformer"], 768);
  EXPECT_EQ(counts["poolformer"], 896);
}

TEST(TransformerSweeps, HaveANetworkForEveryPoint) {
  const std::set<std::string> families = {
      "swin", "vit", "visformer", "poolformer", "bert",
      "gpt",  "t5",  "deberta",   "rnn",        "mlp"};
  std::set<std::string> models;
  for (const char* sweep : {"dippm", "language", "mlp"}) {
    for (const zoo::SweepPoint& point : zoo::ListSweep(sweep)) {
      if (families.contains(point.family)) models.insert(point.model);
    }
  }
  for (const std::string& model : models) {
    EXPECT_NO_THROW(zoo::Load(model)) << model;
  }
}

}  // namespace
}  // namespace foretell
