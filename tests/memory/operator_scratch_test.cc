#include "src/memory/operator_scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

using test::A100;
using Sizes = std::vector<std::int64_t>;

Sizes ScratchOf(const std::string& body) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  return memory::ScratchTensors(graph.nodes().back(), graph, A100());
}

TEST(OperatorScratch, OfASoftmaxIsTheProductOfItsGradientAndResult) {
  EXPECT_EQ(ScratchOf(R"(%d = input f32[2,8,16,16]
%g = _softmax_backward_data(%d, input f32[2,8,16,16]) {dim=-1} : f16[2,8,16,16]
)"),
            Sizes({4 * 2 * 8 * 16 * 16}));
  EXPECT_EQ(ScratchOf(R"(%d = input f32[2,8,16,16]
%g = _log_softmax_backward_data(%d, input f32[2,8,16,16]) {dim=-1} : f32[2,8,16,16]
)"),
            Sizes());
}

/// Of queries of 2 sequences, 8 heads, and keys of `key_heads`.
std::string Attention(const std::string& target, const std::string& type,
                      int key_heads, int length, int width) {
  const auto tensor = [&](int heads) {
    return type + "[2," + std::to_string(heads) + "," + std::to_string(length) +
           "," + std::to_string(width) + "]";
  };
  const std::string query = tensor(8);
  const std::string key = tensor(key_heads);
  return "%q = input " + query + "\n%k = input " + key +
         "\n%a, %b, %c = " + target + "(%q, %q, %k, %k) : " + query + ", " +
         key + ", " + key + "\n";
}

TEST(OperatorScratch, OfFlashAttentionSumsTheQueriesGradientInFloat) {
  const std::string target = "_scaled_dot_product_flash_attention_backward";
  const std::int64_t rows = 2 * 8 * 256;  // 200 rounded up to blocks of 128.
  EXPECT_EQ(ScratchOf(Attention(target, "bf16", 8, 200, 64)),
            Sizes({4 * rows, 4 * rows * 64}));
  // A head of 80 is padded to 96. Each of 8 heads has keys of its own.
  EXPECT_EQ(ScratchOf(Attention(target, "bf16", 2, 200, 80)),
            Sizes({4 * rows, 4 * rows * 96, 2 * 2 * 8 * 200 * 80,
                   2 * 2 * 8 * 200 * 80}));
  // Beyond 192 all have 256.
  EXPECT_EQ(ScratchOf(Attention(target, "bf16", 8, 200, 200)),
            Sizes({4 * rows, 4 * rows * 256}));
}

// The heads' share of 101,971,968 bytes that an H100 took for
// [128, 12, 197, 64] of f32.
TEST(OperatorScratch, OfEfficientAttentionAreTilesWithLocks) {
  const std::int64_t heads = 2 * 8;
  EXPECT_EQ(
      ScratchOf(Attention("_scaled_dot_product_efficient_attention_backward",
                          "f32", 8, 197, 64)),
      Sizes({heads * 197 * 4, heads * 4 * (64 * 64 * 4 + 16)}));
  EXPECT_EQ(101971968 / (128 * 12), 197 * 4 + 4 * (64 * 64 * 4 + 16));
}

TEST(OperatorScratch, OfAnEmbeddingAreSortedIndicesAndSumsOfTenRows) {
  const auto embedding = [](int indices, int rows) {
    return ScratchOf("%d = input bf16[1," + std::to_string(indices) +
                     ",8]\n%g = embedding_backward(%d, input i64[1," +
                     std::to_string(indices) +
                     "]) {num_weights=" + std::to_string(rows) + "} : bf16[" +
                     std::to_string(rows) + ",8]\n");
  };
  EXPECT_EQ(embedding(3072, 9000), Sizes());
  const std::int64_t n = 4000;
  Sizes many(5, n * 8);
  many.insert(many.end(), {4400 * 8, 4400 * 8 * 4});
  EXPECT_EQ(embedding(n, 9000), many);
  Sizes few(5, n * 8);
  few.insert(few.end(), {500 * 8, 500 * 8 * 4});
  EXPECT_EQ(embedding(n, 100), few);
}

}  // namespace
}  // namespace foretell
