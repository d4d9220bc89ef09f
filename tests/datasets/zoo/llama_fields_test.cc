// The fields that make other decoders of LLaMA: weights and work by hand,
// masks, logits and losses. tests/datasets/zoo/grad_mode_test.cc compares what
// autograd keeps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/zoo/transformers_test.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;

/// A decoder that is small enough to count by hand.
const std::string kDecoder =
    "llama?width=64&depth=2&heads=4&kv_heads=4&inner=96&vocabulary=128&"
    "positions=256&seq=64";

std::int64_t ParametersOf(const std::string& changes) {
  return zoo::Load(kDecoder + changes).parameter_elements();
}

TEST(LlamaFields, AddTheWeightsThatTheyName) {
  const std::int64_t plain = ParametersOf("");
  constexpr std::int64_t kSquare = 64 * 64;
  EXPECT_EQ(plain,
            2 * 128 * 64 + 2 * (4 * kSquare + 3 * 64 * 96 + 2 * 64) + 64);
  // Heads of 32: four projections of twice the size.
  EXPECT_EQ(ParametersOf("&head_width=32"), plain + 2 * 4 * kSquare);
  EXPECT_EQ(ParametersOf("&fused_qkv=true&fused_gate_up=true"), plain);
  EXPECT_EQ(ParametersOf("&mlp_gate=false"), plain - 2 * 64 * 96);
  EXPECT_EQ(ParametersOf("&post_norms=true"), plain + 2 * 2 * 64);
  EXPECT_EQ(ParametersOf("&parallel_blocks=true"), plain - 2 * 64);
  EXPECT_EQ(ParametersOf("&parallel_blocks=true&parallel_norms=2"), plain);
  EXPECT_EQ(ParametersOf("&norm=layer"), plain + 5 * 64);
  EXPECT_EQ(ParametersOf("&out_bias=true&mlp_bias=true&head_bias=true"),
            plain + 2 * (64 + 96 + 96 + 64) + 128);
  EXPECT_EQ(ParametersOf("&positions_learned=true"), plain + 256 * 64);
  EXPECT_EQ(ParametersOf("&width_norms=true"), plain + 2 * 2 * 64);
  // A router, four experts instead of one feed-forward part, a shared one.
  EXPECT_EQ(
      ParametersOf("&experts=4&expert_inner=48&shared_inner=80"),
      plain + 2 * (64 * 4 + 4 * 3 * 64 * 48 + 3 * 64 * 80 + 64 - 3 * 64 * 96));
}

TEST(LlamaFields, RunTwoExpertsOfEightForEveryToken) {
  const Trace trace = TraceZoo(kDecoder + "&experts=8&expert_inner=48", 3);
  const std::int64_t tokens = std::int64_t{3} * 64;
  const std::int64_t layer =
      4 * 64 * 64 + 64 * 8 + 2 * 3 * 64 * 48 + 64 * 2 * 64;
  EXPECT_EQ(trace.graph.ForwardMacs(), tokens * (2 * layer + 64 * 128));
}

TEST(LlamaFields, ShareExpertsAmongGpus) {
  const std::string name = kDecoder + "&experts=8&expert_inner=48";
  const auto bytes = [&](const std::string& plan, TensorRole role) {
    TraceOptions options = {.run = {.mode = Mode::kTraining}};
    if (!plan.empty()) {
      options.loop.parallel = ParseParallel("--parallel", plan);
    }
    const Trace trace = TraceZoo(name, 3, options);
    std::int64_t sum = 0;
    for (const Storage& storage : trace.graph.storages()) {
      if (storage.role == role) sum += storage.bytes;
    }
    return sum;
  };
  // Six of eight experts in each of two layers are other GPUs'.
  constexpr std::int64_t kOthers = 2 * 6 * 3 * 64 * 48 * 4;
  EXPECT_EQ(bytes("ep:4", TensorRole::kParameter),
            bytes("", TensorRole::kParameter) - kOthers);
  ExpectError([&] { bytes("ep:3", TensorRole::kParameter); },
              ErrorCode::kInvalidArgument, "8 experts are no 3 equal groups");
}

TEST(LlamaFields, LeaveExpertsOutThatNoTokenChooses) {
  const Trace trace =
      TraceZoo(kDecoder + "&experts=8&phase=decode&cache=10", 1);
  int sums = 0;
  for (const Node& node : trace.graph.nodes()) {
    sums += node.target == "index_add_";
  }
  EXPECT_EQ(sums, 2 * 2);
}

/// Inputs of each attention, in the order of layers: 4 with a mask.
std::vector<std::size_t> InputsOfAttention(const std::string& changes) {
  std::vector<std::size_t> counts;
  const Trace trace = TraceZoo(kDecoder + changes, 2);
  for (const Node& node : trace.graph.nodes()) {
    if (node.kind == OpKind::kAttention) counts.push_back(node.inputs.size());
  }
  return counts;
}

TEST(LlamaFields, MaskOnlyLayersWhoseWindowIsShorterThanTheSequence) {
  EXPECT_THAT(InputsOfAttention(""), ElementsAre(3, 3));
  EXPECT_THAT(InputsOfAttention("&window=32"), ElementsAre(4, 4));
  EXPECT_THAT(InputsOfAttention("&window=65"), ElementsAre(3, 3));
  EXPECT_THAT(InputsOfAttention("&window=32&window_pattern=2"),
              ElementsAre(4, 3));
  EXPECT_THAT(InputsOfAttention("&packed=true"), ElementsAre(4, 4));
  EXPECT_THAT(InputsOfAttention("&packed=true&window=32&attention=flash"),
              ElementsAre(3, 3));
  EXPECT_THAT(InputsOfAttention("&packed=true&window=32&attention=flex"),
              ElementsAre(3, 3));
  EXPECT_THAT(InputsOfAttention("&attention=eager"), ElementsAre());
}

/// Bytes that a training step keeps for its backward pass.
std::int64_t BytesKept(const std::string& changes) {
  const Trace trace = TraceZoo(
      kDecoder + changes, 2,
      {.run = {.mode = Mode::kTraining, .precision = Precision::kBf16}});
  std::int64_t bytes = 0;
  for (const Storage& storage : trace.graph.storages()) {
    if (storage.role == TensorRole::kSaved) bytes += storage.bytes;
  }
  return bytes;
}

TEST(LlamaFields, KeepOneNumberPerRowForFlexAttention) {
  // 2 layers of bf16[2,4,64,16] and f32[2,4,64]; eager attention keeps scores
  // f32[2,4,64,64] and their copy in 16 bits at least.
  EXPECT_LE(BytesKept("&attention=flex"), BytesKept("&attention=eager") -
                                              2 * 2 * 4 * 64 * 64 * (4 + 2) +
                                              2 * 2 * 4 * 64 * (16 * 2 + 4));
  EXPECT_EQ(BytesKept("&attention=flex&packed=true&attention_softcap=50"),
            BytesKept("&attention=flex"));
}

TEST(LlamaFields, UpcastAndShiftLogitsAsOlderVersionsDo) {
  const TraceOptions in_16_bit = {.run = {.precision = Precision::kBf16}};
  EXPECT_EQ(ToString(TraceZoo(kDecoder, 2, in_16_bit).outputs[0].type),
            "bf16[2,64,128]");
  EXPECT_EQ(ToString(TraceZoo(kDecoder + "&upcast_logits=true", 2, in_16_bit)
                         .outputs[0]
                         .type),
            "f32[2,64,128]");
  const std::pair<const char*, const char*> kRows[] = {
      {"", "f32[128,128]"}, {"&shift_logits=true", "f32[126,128]"}};
  for (const auto& [changes, rows] : kRows) {
    const Trace trace =
        TraceZoo(kDecoder + changes, 2, {.run = {.mode = Mode::kTraining}});
    std::vector<std::string> scores;
    for (const Node& node : trace.graph.nodes()) {
      if (node.target != "cross_entropy_loss") continue;
      scores.push_back(ToString(trace.graph.value(node.inputs[0]).type));
    }
    EXPECT_THAT(scores, ElementsAre(rows));
  }
}

/// Types of what the losses of a training step in 16 bits are computed from.
std::vector<std::string> ScoresOf(const std::string& changes) {
  const Trace trace = TraceZoo(
      kDecoder + changes, 2,
      {.run = {.mode = Mode::kTraining, .precision = Precision::kBf16}});
  std::vector<std::string> scores;
  for (const Node& node : trace.graph.nodes()) {
    if (node.target != "cross_entropy_loss") continue;
    scores.push_back(ToString(trace.graph.value(node.inputs[0]).type));
  }
  return scores;
}

TEST(LlamaFields, LeaveTheLossInTheTypeOfTheLogitsAsGptBigcode) {
  EXPECT_THAT(ScoresOf("&shift_logits=true"), ElementsAre("f32[126,128]"));
  EXPECT_THAT(ScoresOf("&shift_logits=true&upcast_loss=false"),
              ElementsAre("bf16[126,128]"));
}

// Queries, keys and values of 64 numbers each.
TEST(LlamaFields, ReturnFusedProjectionsInTraining) {
  const std::string network = kDecoder + "&fused_qkv=true&returned_cache=true";
  const Trace step = TraceZoo(network, 2, {.run = {.mode = Mode::kTraining}});
  ASSERT_EQ(step.outputs.size(), 3);
  EXPECT_EQ(ToString(step.outputs[2].type), "f32[2,64,192]");
  EXPECT_EQ(TraceZoo(network, 2, {}).outputs.size(), 1);
}

TEST(LlamaFields, RefuseWhatContradicts) {
  const std::pair<const char*, const char*> kBad[] = {
      {"&norm=batch", "norm=batch: expected rms, olmo2, gemma"},
      {"&activation=tanh", "activation=tanh: expected one of silu"},
      {"&attention=math",
       "attention=math: expected sdpa, eager, flash or flex"},
      {"&rotary_share=1.5", "rotary_share=1.5"},
      {"&rotary_share=0.2", "3 of 16 numbers of a head turn"},
      {"&parallel_norms=3", "parallel_norms=3: expected 1 or 2"},
      {"&experts=2&experts_per_token=3", "expected 1 to experts=2"},
      {"&moe=granite", "moe=granite needs experts"},
      {"&mlp_gate=false&experts=4", "mlp_gate=false has no"},
      {"&copied_kv=true", "copied_kv=true needs fused_qkv=true"},
      {"&packed=true&phase=prefill", "packed=true changes forward"},
      {"&upcast_loss=false", "upcast_loss=false needs shift_logits=true"},
      {"&returned_cache=true", "returned_cache=true needs fused_qkv=true"},
  };
  for (const auto& [changes, part] : kBad) {
    ExpectError([&] { zoo::Load(kDecoder + changes); },
                ErrorCode::kInvalidArgument, part);
  }
  ExpectError([] { zoo::Load("llama?shift_logits=true&seq=1"); },
              ErrorCode::kInvalidArgument,
              "shift_logits=true needs seq of at least 2");
}

}  // namespace
}  // namespace foretell
