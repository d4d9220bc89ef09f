// Whole networks traced under autocast: the kernels that their casts make, and
// the memory that casts of parameters take.

#include <gtest/gtest.h>

#include <string>

#include "foretell/trace.h"
#include "foretell/zoo.h"
#include "tests/program/autocast_kernels.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

OperatorGraph TraceOf(const std::string& name, const TraceOptions& options) {
  const Program program = zoo::Load(name);
  return TraceProgram(program,
                      BindInputs(program.inputs(), {.batch = 4}, name), options)
      .graph;
}

class AutocastOfZoo : public testing::TestWithParam<const char*> {};

TEST_P(AutocastOfZoo, MakesTheKernelsThatPlainTracesAreGiven) {
  const OperatorGraph traced =
      TraceOf(GetParam(), {.autocast = DType::kF16});
  const OperatorGraph plain =
      TraceOf(GetParam(), {.precision = Precision::kFp16});
  for (const bool channels_last : {false, true}) {
    EXPECT_EQ(FirstDifference(traced, plain, channels_last), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, AutocastOfZoo,
    testing::Values("resnet50", "vgg16", "densenet121", "mobilenet_v3_large",
                    "efficientnet_b0", "inception_v3", "convnext_tiny",
                    "regnet_y_400mf", "bert_base", "vit_base_patch16_224",
                    "gpt2", "swin_tiny_patch4_window7_224", "t5_small",
                    "deberta_v2_base", "mixer_s16_224", "poolformer_s12",
                    "visformer_small", "unet", "lstm_medium",
                    "bilstm_classifier", "mlp_medium"),
    [](const auto& test) { return std::string(test.param); });

/// Bytes of what `node` makes, when it is one of autocast's casts of a
/// parameter.
std::int64_t WeightCastBytes(const OperatorGraph& graph, const Node& node) {
  if (node.Int(kAutocastAttribute, 0) == 0) return 0;
  const Value& source = graph.value(node.inputs.front());
  if (graph.storage(source.storage).role != TensorRole::kParameter) return 0;
  return graph.value(node.outputs.front()).type.Bytes();
}

TEST(AutocastOfBertLarge, KeepsCastsBesideTheParameters) {
  constexpr std::int64_t kWidth = 1024;
  constexpr std::int64_t kInner = 4096;
  constexpr std::int64_t kLinear =
      24 * (4 * (kWidth * kWidth + kWidth) + 2 * kWidth * kInner + kInner +
            kWidth) +
      kWidth * kWidth + kWidth;
  constexpr std::int64_t kEmbeddings = (30522 + 512 + 2) * kWidth;
  constexpr std::int64_t kNorms = (2 * 24 + 1) * 2 * kWidth;
  const OperatorGraph graph =
      TraceOf("bert_large", {.autocast = DType::kF16});
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            4 * (kLinear + kEmbeddings + kNorms));
  std::int64_t casts = 0;
  std::int64_t alive = 0;
  const auto last = static_cast<NodeId>(graph.nodes().size()) - 1;
  for (const Node& node : graph.nodes()) {
    const std::int64_t bytes = WeightCastBytes(graph, node);
    casts += bytes;
    if (bytes > 0 && DeathOf(graph, node.outputs.front()) == last) {
      alive += bytes;
    }
  }
  EXPECT_EQ(casts, 2 * kLinear);
  EXPECT_EQ(alive, casts);
}

}  // namespace
}  // namespace foretell
