// Decoders of the LLaMA kind: published sizes, work per token, and the cache of
// keys and values as memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/datasets/zoo/transformers_test.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

TEST(Llama, HasThePublishedNumbersOfParameters) {
  const std::pair<const char*, std::int64_t> kPublished[] = {
      {"llama2_7b", 6'738'415'616},  {"llama2_13b", 13'015'864'320},
      {"llama3_8b", 8'030'261'248},  {"llama3_2_1b", 1'235'814'400},
      {"mistral_7b", 7'241'732'096}, {"qwen2_0_5b", 494'032'768},
      {"qwen2_7b", 7'615'616'512},   {"qwen3_8b", 8'190'735'360},
      {"qwen3_14b", 14'768'307'200},
  };
  for (const auto& [name, parameters] : kPublished) {
    EXPECT_EQ(zoo::Load(name).parameter_elements(), parameters) << name;
  }
}

/// Multiply-accumulates of one token of llama2_7b: four square projections and
/// three of the feed-forward part in each of 32 layers.
constexpr std::int64_t kLayerMacs =
    std::int64_t{32} * (4 * 4096 * 4096 + 3 * 4096 * 11008);
constexpr std::int64_t kHeadMacs = std::int64_t{4096} * 32000;
/// Of both products of attention, per query and key.
constexpr std::int64_t kPairMacs = std::int64_t{32} * 2 * 4096;

TEST(Llama, DecodesWithTheWorkOfOneTokenAndItsCache) {
  const Trace trace = TraceZoo("llama2_7b?phase=decode&cache=2047", 3);
  EXPECT_EQ(trace.graph.ForwardMacs(),
            3 * (kLayerMacs + kHeadMacs + 2048 * kPairMacs));
  EXPECT_EQ(kLayerMacs + kHeadMacs + 2048 * kPairMacs, 7'143'948'288);
}

TEST(Llama, PrefillsWithTheLogitsOfTheLastTokenOnly) {
  const std::int64_t states = 512 * kLayerMacs + 512 * 512 * kPairMacs;
  EXPECT_EQ(TraceZoo("llama2_7b?phase=prefill", 2).graph.ForwardMacs(),
            2 * (states + kHeadMacs));
  EXPECT_EQ(TraceZoo("llama2_7b?phase=prefill&all_logits=true", 2)
                .graph.ForwardMacs(),
            2 * (states + 512 * kHeadMacs));
  EXPECT_EQ(TraceZoo("llama2_7b", 2).graph.ForwardMacs(),
            2 * (states + 512 * kHeadMacs));
}

/// Bytes of all storages that play `role`.
std::int64_t BytesOf(const OperatorGraph& graph, TensorRole role) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == role) bytes += storage.bytes;
  }
  return bytes;
}

struct CacheCase {
  const char* name;
  std::int64_t parameters;
  std::int64_t bytes_per_token;  ///< 2 × layers × key heads × width × 2 bytes.
};

TEST(Llama, HoldsWeightsAndCacheIn16Bit) {
  for (const CacheCase& c :
       {CacheCase{"llama2_7b", 6'738'415'616, 2 * 32 * 32 * 128 * 2},
        CacheCase{"llama3_8b", 8'030'261'248, 2 * 32 * 8 * 128 * 2},
        CacheCase{"qwen2_7b", 7'615'616'512, 2 * 28 * 4 * 128 * 2}}) {
    SCOPED_TRACE(c.name);
    const Trace trace =
        TraceZoo(std::string(c.name) + "?phase=decode&cache=1999", 4,
                 {.run = {.precision = Precision::kFp16}});
    EXPECT_EQ(BytesOf(trace.graph, TensorRole::kParameter), 2 * c.parameters);
    // Beside the cache, four token numbers of eight bytes.
    EXPECT_EQ(BytesOf(trace.graph, TensorRole::kInput),
              4 * 2000 * c.bytes_per_token + 4 * 8);
  }
}

TEST(Llama, ReturnsTheCacheThatPrefillFills) {
  const Trace trace = TraceZoo("llama3_8b?phase=prefill&seq=100&cache=300", 2,
                               {.run = {.precision = Precision::kFp16}});
  ASSERT_EQ(trace.outputs.size(), 2u);
  EXPECT_EQ(ToString(trace.outputs[0].type), "f16[2,1,128256]");
  EXPECT_EQ(ToString(trace.outputs[1].type), "f16[32,2,2,8,300,128]");
}

/// The first attention of `trace`.
const Node& FirstAttention(const Trace& trace) {
  for (const Node& node : trace.graph.nodes()) {
    if (node.kind == OpKind::kAttention) return node;
  }
  throw std::runtime_error("no attention");
}

TEST(Llama, AttendsToTheCacheAndTheTokenThatItAppends) {
  const Trace trace = TraceZoo("llama3_8b?depth=3&phase=decode&cache=40", 2,
                               {.run = {.precision = Precision::kFp16}});
  const Node& attention = FirstAttention(trace);
  EXPECT_EQ(ToString(trace.graph.value(attention.inputs[0]).type),
            "f16[2,32,1,128]");
  EXPECT_EQ(ToString(trace.graph.value(attention.inputs[1]).type),
            "f16[2,8,41,128]");
  EXPECT_EQ(attention.Int("is_causal", 0), 0);
  // A key and a value per layer.
  int copies = 0;
  for (const Node& node : trace.graph.nodes()) copies += node.target == "copy_";
  EXPECT_EQ(copies, 2 * 3);
}

TEST(Llama, CopiesNothingWithoutACache) {
  const Trace trace = TraceZoo("llama?depth=2&seq=8", 1);
  for (const Node& node : trace.graph.nodes()) EXPECT_NE(node.target, "copy_");
  EXPECT_EQ(FirstAttention(trace).Int("is_causal", 0), 1);
}

Trace TrainSmall(const std::string& kernels) {
  return TraceZoo(
      "llama?width=64&depth=2&heads=4&kv_heads=2&inner=96&vocabulary=1000&"
      "seq=16",
      2, {.run = {.mode = Mode::kTraining}, .loop = {.kernels = kernels}});
}

/// Operators of that name and phase.
std::int64_t CallsOf(const Trace& trace, std::string_view target,
                     Phase phase = Phase::kForward) {
  return std::ranges::count_if(trace.graph.nodes(), [&](const Node& node) {
    return node.target == target && node.phase == phase;
  });
}

/// The most bytes of a storage that a forward or backward pass makes.
std::int64_t LargestMade(const Trace& trace) {
  std::int64_t largest = 0;
  for (const Storage& storage : trace.graph.storages()) {
    const bool is_made = storage.role == TensorRole::kActivation ||
                         storage.role == TensorRole::kSaved ||
                         storage.role == TensorRole::kBackwardTemporary;
    if (is_made) largest = std::max(largest, storage.bytes);
  }
  return largest;
}

constexpr std::int64_t kAllLogits = 2 * 16 * 1000 * 4;

TEST(Llama, TrainsWithLigersKernels) {
  const Trace trace = TrainSmall("liger");
  EXPECT_EQ(CallsOf(trace, "liger::rms_norm"), 2 * 2 + 1);
  EXPECT_EQ(CallsOf(trace, "liger::rms_norm_backward", Phase::kBackward), 5);
  EXPECT_EQ(CallsOf(trace, "liger::rope_"), 2);
  EXPECT_EQ(CallsOf(trace, "liger::rope_", Phase::kBackward), 2);
  EXPECT_EQ(CallsOf(trace, "liger::swiglu"), 2);
  EXPECT_EQ(CallsOf(trace, "liger::swiglu_backward", Phase::kBackward), 2);
  // 32 rows by 16 = ceil(1000 / 64) are 2 at a time.
  EXPECT_EQ(CallsOf(trace, "liger::cross_entropy_"), 16);
  EXPECT_EQ(trace.loss, "cross entropy over 1000 classes, in parts");
  // The product that is added to the gradient of the head.
  EXPECT_EQ(LargestMade(trace), 1000 * 64 * 4);
  EXPECT_EQ(trace.outputs.front().type.shape,
            (std::vector<std::int64_t>{2, 16, 64}));
}

TEST(Llama, CutsTheLossIntoChunks) {
  const Trace trace = TrainSmall("chunked-cross-entropy:4");
  EXPECT_EQ(CallsOf(trace, "cross_entropy_loss"), 4);
  for (const Storage& storage : trace.graph.storages()) {
    EXPECT_NE(storage.bytes, kAllLogits);
  }
}

TEST(Llama, OverwritesLogitsByTheirGradient) {
  const auto logits = [](const Trace& trace) {
    return std::ranges::count(trace.graph.storages(), kAllLogits,
                              &Storage::bytes);
  };
  // Two steps of logits instead of logits, their logarithms and two gradients.
  EXPECT_EQ(logits(TrainSmall("cross-entropy")), 2);
  EXPECT_GT(logits(TrainSmall("")), 4);
}

TEST(Llama, RefusesWhatHasNoPass) {
  const std::pair<const char*, const char*> kBad[] = {
      {"llama?phase=encode", "phase=encode: expected forward, prefill or"},
      {"llama?cache=8", "cache=8: a forward pass has no cache"},
      {"llama?phase=prefill&cache=8", "cache=8: 512 tokens do not fit"},
      {"llama?phase=decode&cache=4096", "exceeds positions=4096"},
      {"llama?all_logits=true", "all_logits=true changes prefill"},
      {"llama?kv_heads=5", "heads=32 is not a multiple of kv_heads=5"},
      {"llama?seq=5000", "seq=5000"},
  };
  for (const auto& [name, part] : kBad) {
    ExpectError([&] { zoo::Load(name); }, ErrorCode::kInvalidArgument, part);
  }
  ExpectError(
      [] {
        TraceZoo("llama?phase=prefill", 1, {.run = {.mode = Mode::kTraining}});
      },
      ErrorCode::kInvalidArgument, "training has forward only");
}

}  // namespace
}  // namespace foretell
