#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/serving.h"

namespace foretell {
namespace {

using Kind = CacheLayers::Kind;

Decoder Read(const std::string& keys) {
  return ReadDecoder(R"({"hidden_size": 4096, "num_hidden_layers": 32,
                         "num_attention_heads": 32, "vocab_size": 32000, )" +
                         keys + "}",
                     "config.json");
}

TEST(ReadDecoder, GroupedQueriesShareKeys) {
  const Decoder decoder = Read(R"("num_key_value_heads": 8)");
  ASSERT_EQ(decoder.layers.size(), 1u);
  EXPECT_EQ(
      decoder.layers[0],
      (CacheLayers{
          .kind = Kind::kFull, .layers = 32, .heads = 8, .numbers = 256}));
}

TEST(ReadDecoder, KeysOfOldTypesCountToo) {
  const Decoder decoder =
      ReadDecoder(R"({"n_embd": 768, "n_layer": 12, "n_head": 12,
                      "vocab_size": 50257, "multi_query": true})",
                  "config.json");
  EXPECT_EQ(decoder.layers[0].heads, 1);
  EXPECT_EQ(decoder.layers[0].numbers, 128);
  EXPECT_EQ(decoder.inner, 4 * 768);
}

// deepseek-ai/DeepSeek-V3: 512 + 64 numbers for all heads together.
TEST(ReadDecoder, LatentAttentionHasOneVectorPerToken) {
  const Decoder decoder = Read(
      R"("kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": 128)");
  ASSERT_EQ(decoder.layers.size(), 2u);
  EXPECT_EQ(decoder.layers[0].kind, Kind::kLatent);
  EXPECT_EQ(decoder.layers[0].numbers, 576);
  EXPECT_EQ(decoder.layers[1].fixed_token_bytes, 132);
}

TEST(ReadDecoder, TextConfigHasDefaultsOfItsType) {
  const Decoder decoder = ReadDecoder(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
          "hidden_size": 2560, "num_hidden_layers": 34,
          "sliding_window": 1024}})",
      "config.json");
  ASSERT_EQ(decoder.layers.size(), 2u);
  EXPECT_EQ(decoder.layers[0], (CacheLayers{.kind = Kind::kWindow,
                                            .layers = 29,
                                            .heads = 4,
                                            .numbers = 512,
                                            .window = 1024}));
  EXPECT_EQ(decoder.layers[1].layers, 5);
  EXPECT_TRUE(decoder.tied_head);
}

// Convolution (2·16·128 + 32·128)·3 and state 32·128·128, in 16 bits.
TEST(ReadDecoder, DeltaNetHasAStateInThreeOfFourLayers) {
  const Decoder decoder =
      Read(R"("model_type": "qwen3_next", "num_key_value_heads": 2)");
  ASSERT_EQ(decoder.layers.size(), 2u);
  EXPECT_EQ(decoder.layers[0].kind, Kind::kState);
  EXPECT_EQ(decoder.layers[0].layers, 24);
  EXPECT_EQ(decoder.layers[0].state_bytes, 2 * (8192 * 3 + 32 * 128 * 128));
  EXPECT_EQ(decoder.layers[1].numbers, 512);
}

TEST(ReadDecoder, JambaHasAttentionInOneOfEightLayers) {
  const Decoder decoder =
      Read(R"("model_type": "jamba", "num_key_value_heads": 8)");
  EXPECT_EQ(decoder.layers[0].layers, 28);
  EXPECT_EQ(decoder.layers[0].state_bytes, 2 * 8192 * (3 + 16));
  EXPECT_EQ(decoder.layers[1].layers, 4);
}

// 128 heads of 80, 8 groups of 128: convolution in 16 bits, states in 32.
TEST(ReadDecoder, NemotronListsItsLayersInLetters) {
  const Decoder decoder = Read(
      R"("model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-",
         "mamba_num_heads": 128, "mamba_head_dim": 80, "n_groups": 8,
         "ssm_state_size": 128, "conv_kernel": 4,
         "mamba_ssm_cache_dtype": "float32")");
  EXPECT_EQ(decoder.layers[0].layers, 2);
  EXPECT_EQ(decoder.layers[0].state_bytes,
            2 * (10240 + 2048) * 3 + 4 * 10240 * 128);
  EXPECT_EQ(decoder.layers[1].layers, 1);
}

TEST(ReadDecoder, AnyListOfLayersCounts) {
  const Decoder decoder = Read(
      R"("layer_types": ["sliding_attention", "full_attention",
                         "sliding_attention"], "sliding_window": 128)");
  EXPECT_EQ(decoder.layers[0].layers, 2);
  EXPECT_EQ(decoder.layers[0].window, 128);
}

TEST(ReadDecoder, RefusesWhatHasNoKnownCache) {
  for (const char* keys :
       {R"("is_encoder_decoder": true)", R"("layer_types": ["retention"])",
        R"("layer_types": ["mamba"])", R"("sliding_window": -1)",
        R"("kv_lora_rank": 512)"}) {
    EXPECT_THROW(Read(keys), Error) << keys;
  }
  EXPECT_THROW(ReadDecoder("[]", "config.json"), Error);
}

}  // namespace
}  // namespace foretell
