#include <gtest/gtest.h>

#include "foretell/error.h"
#include "foretell/serving.h"

namespace foretell {
namespace {

using Kind = CacheLayers::Kind;

constexpr double kMib = 1024 * 1024;

/// LLaMA-3-8B: 32 layers with 8 heads of 128 numbers, twice.
Decoder Llama() {
  Decoder decoder{.width = 4096, .inner = 14336, .vocabulary = 128256};
  decoder.layers = {
      {.kind = Kind::kFull, .layers = 32, .heads = 8, .numbers = 256}};
  return decoder;
}

Decoder OfLayers(std::vector<CacheLayers> layers) {
  Decoder decoder = Llama();
  decoder.layers = std::move(layers);
  return decoder;
}

TEST(PlanServing, CountsKeysAndValues) {
  const ServingPlan plan = PlanServing(Llama(), {});
  EXPECT_EQ(plan.token_bytes, 32 * 8 * 256 * 2);
  EXPECT_EQ(plan.sequence_bytes, 1024 * kMib);
  EXPECT_EQ(plan.allocated_bytes, 1024 * kMib);
  EXPECT_FALSE(plan.weight_bytes);
}

TEST(PlanServing, RoundsSequencesUpToBlocks) {
  const ServingPlan plan = PlanServing(Llama(), {.context = 17});
  EXPECT_EQ(plan.allocated_bytes, 32 * plan.token_bytes);
}

TEST(PlanServing, FormatsHaveTheirScales) {
  const double numbers = 32 * 8 * 256;
  for (const auto& [format, bytes] :
       {std::pair(CacheFormat::kFloat, 4 * numbers),
        std::pair(CacheFormat::kFp8, numbers),
        std::pair(CacheFormat::kInt8, numbers + 32 * 8 * 8),
        std::pair(CacheFormat::kNvfp4, 9 * numbers / 16),
        std::pair(CacheFormat::kInt4, 9 * numbers / 16)}) {
    EXPECT_EQ(PlanServing(Llama(), {.cache = format}).token_bytes, bytes);
  }
}

TEST(PlanServing, GpusShareHeadsAndCopyTheLast) {
  const double whole = PlanServing(Llama(), {}).token_bytes;
  for (const auto& [gpus, share] :
       {std::pair(2, 2), std::pair(8, 8), std::pair(16, 8)}) {
    EXPECT_EQ(PlanServing(Llama(), {.tensor_parallel = gpus}).token_bytes,
              whole / share);
  }
  EXPECT_THROW(PlanServing(Llama(), {.tensor_parallel = 3}), Error);
}

TEST(PlanServing, EveryGpuHasTheWholeLatent) {
  const Decoder decoder = OfLayers(
      {{.kind = Kind::kLatent, .layers = 61, .heads = 1, .numbers = 576}});
  EXPECT_EQ(PlanServing(decoder, {.tensor_parallel = 8}).token_bytes,
            61 * 576 * 2);
  EXPECT_EQ(PlanServing(decoder, {.cache = CacheFormat::kFp8}).token_bytes,
            61 * 576);
  EXPECT_THROW(PlanServing(decoder, {.cache = CacheFormat::kInt8}), Error);
}

// Gemma 3 4B: groups of 5 layers, of which the windows fill 6; a window has a
// block more than the tokens of its pass need.
TEST(PlanServing, WindowsStopGrowing) {
  const Decoder decoder = OfLayers(
      {{.kind = Kind::kWindow,
        .layers = 29,
        .heads = 4,
        .numbers = 512,
        .window = 1024},
       {.kind = Kind::kFull, .layers = 5, .heads = 4, .numbers = 512}});
  const ServingPlan plan =
      PlanServing(decoder, {.context = 32768, .batched_tokens = 2048});
  EXPECT_EQ(plan.token_bytes, 5 * 4096);
  EXPECT_EQ(plan.sequence_bytes, 4096.0 * (5 * 32768 + 29 * 1023));
  EXPECT_EQ(plan.allocated_bytes,
            5.0 * 16 * 4096 * (2048 + 6 * ((1023 + 2048 + 15) / 16 + 1)));
}

// Nemotron-Nano-9B-v2, states in 16 bits: vLLM has blocks of 672 tokens
// (vllm-project/vllm#24280), 42 times 16, as the first that hold a state.
TEST(PlanServing, BlocksOfHybridsHoldAState) {
  const std::int64_t state = 2 * ((10240 + 2048) * 3 + 10240 * 128);
  const Decoder decoder = OfLayers(
      {{.kind = Kind::kState, .layers = 27, .state_bytes = state},
       {.kind = Kind::kFull, .layers = 4, .heads = 8, .numbers = 256}});
  const ServingPlan plan = PlanServing(decoder, {});
  EXPECT_EQ(plan.block_tokens, 672);
  EXPECT_EQ(plan.sequence_bytes,
            27.0 * static_cast<double>(state) + 4.0 * 4096 * 8192);
  // Four layers to a group: one of attention with 13 blocks, seven of states.
  EXPECT_EQ(plan.allocated_bytes, 4.0 * 672 * 4096 * (13 + 7));
}

TEST(PlanServing, StatesAloneHaveNoBlocks) {
  const Decoder decoder =
      OfLayers({{.kind = Kind::kState, .layers = 64, .state_bytes = 1000}});
  const ServingPlan plan = PlanServing(decoder, {.tensor_parallel = 2});
  EXPECT_EQ(plan.token_bytes, 0);
  EXPECT_EQ(plan.allocated_bytes, 64 * 500);
  EXPECT_EQ(plan.block_tokens, 0);
}

// vllm-project/vllm#10511: weights 14.96 GiB and 1.26 GiB of activations of
// 79.22 GiB.
TEST(PlanServing, WhatRemainsOfTheGpuIsCache) {
  const ServingPlan plan = PlanServing(
      Llama(), {.usable_mib = 79.22 * 1024, .parameters = 8'030'261'248});
  ASSERT_TRUE(plan.weight_bytes);
  EXPECT_NEAR(*plan.weight_bytes / kMib / 1024, 14.96, 0.005);
  EXPECT_NEAR(plan.activation_bytes / kMib / 1024, 1.26, 0.01);
  EXPECT_NEAR(plan.cache_bytes / kMib / 1024, 71.30 - 14.96 - 1.25, 0.02);
  EXPECT_NEAR(plan.concurrency, plan.cache_bytes / plan.allocated_bytes, 0.002);
}

TEST(PlanServing, NothingRemainsOfASmallGpu) {
  const ServingPlan plan = PlanServing(
      Llama(), {.usable_mib = 16 * 1024, .parameters = 8'030'261'248});
  EXPECT_LT(plan.cache_bytes, 0);
  EXPECT_EQ(plan.concurrency, 0);
}

TEST(PlanServing, EmbeddingAndHeadAreNotQuantised) {
  ServingRequest request{.usable_mib = 81920, .parameters = 8'030'261'248};
  request.weights = ParseQuantize("--quantize", "fp8");
  const double words = 2.0 * 128256 * 4096;
  EXPECT_EQ(*PlanServing(Llama(), request).weight_bytes,
            8'030'261'248 - words + 2 * words);
}

TEST(BitsPerWeight, CountScales) {
  EXPECT_EQ(BitsPerWeight({}), 16);
  EXPECT_EQ(BitsPerWeight(ParseQuantize("", "nf4")), 4.5);
  EXPECT_NEAR(BitsPerWeight(ParseQuantize("", "nf4,double")), 4.127, 0.001);
  EXPECT_EQ(BitsPerWeight(ParseQuantize("", "gptq:4,group=128")),
            4 + 20.0 / 128);
}

TEST(ParseCacheFormat, KnowsItsNames) {
  EXPECT_EQ(ParseCacheFormat("fp16"), CacheFormat::kHalf);
  EXPECT_EQ(ToString(ParseCacheFormat("nvfp4")), "nvfp4");
  EXPECT_THROW(ParseCacheFormat("int2"), Error);
}

}  // namespace
}  // namespace foretell
