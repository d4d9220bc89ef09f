#include <gtest/gtest.h>

#include "tests/graph/macs_of.h"

namespace foretell {
namespace {

constexpr char kQkv[] =
    "input f32[2,4,10,16], input f32[2,4,12,16], input f32[2,4,12,8]";

// B*H*L = 80 rows, S = 12 keys, E + Ev = 24
constexpr std::int64_t kForward = 80 * 12 * 24;

TEST(AttentionMacs, CountBothProducts) {
  EXPECT_EQ(MacsOf(std::string("%y = scaled_dot_product_attention(") + kQkv +
                   ") : f32[2,4,10,8]"),
            kForward);
}

TEST(AttentionMacs, CountEveryQueryHeadOfGroupedQueries) {
  EXPECT_EQ(MacsOf("%y = scaled_dot_product_attention(input f32[1,8,4,16], "
                   "input f32[1,2,4,16], input f32[1,2,4,16]) "
                   "{enable_gqa=true} : f32[1,8,4,16]"),
            32 * 4 * 32);
}

TEST(AttentionMacs, FollowTheLayoutOfTheForwardKernels) {
  EXPECT_EQ(MacsOf("%y = _efficient_attention_forward(input f32[2,10,4,16], "
                   "input f32[2,12,4,16], input f32[2,12,4,8]) : "
                   "f32[2,10,4,8]"),
            kForward);
  EXPECT_EQ(MacsOf("%y = _flash_attention_forward(input f16[20,4,16], input "
                   "f16[24,4,16], input f16[24,4,8]) {max_q=10, max_k=12} : "
                   "f16[20,4,8]"),
            kForward);
}

TEST(AttentionMacs, OfTheBackwardPassFormTheFirstProductAgain) {
  EXPECT_EQ(
      MacsOf(std::string("%q, %k, %v = "
                         "_scaled_dot_product_efficient_attention_backward("
                         "input f32[2,4,10,8], ") +
             kQkv + ") : f32[2,4,10,16], f32[2,4,12,16], f32[2,4,12,8]"),
      2 * kForward + 80 * 12 * 16);
}

TEST(AttentionMacs, OfAFusedLayerCountItsProjections) {
  // 10 tokens meet 24*8 + 8*8 weights; both products take 80 * 5 each
  EXPECT_EQ(MacsOf("%x = input f32[2,5,8]\n"
                   "%y = _native_multi_head_attention(%x, %x, %x, weight "
                   "f32[24,8], weight f32[24], weight f32[8,8], weight f32[8]) "
                   "{embed_dim=8, num_head=2} : f32[2,5,8]"),
            10 * 256 + 2 * 80 * 5);
  EXPECT_EQ(MacsOf("%y = _transformer_encoder_layer_fwd(input f32[2,5,8], "
                   "weight f32[24,8], weight f32[24], weight f32[8,8], weight "
                   "f32[8], weight f32[8], weight f32[32,8], weight f32[8,32]) "
                   ": f32[2,5,8]"),
            10 * (192 + 64 + 256 + 256) + 2 * 80 * 5);
}

constexpr char kLstm[] = "input f32[5,2,3], input f32[1,2,4], input f32[1,2,4]";

TEST(RecurrentMacs, OfAnLstmMultiplyFourGates) {
  // 5 steps * 2 sequences meet 16*3 + 16*4 weights
  EXPECT_EQ(MacsOf(std::string("%y = lstm(") + kLstm +
                   ", weight f32[16,3], weight f32[16,4], weight f32[16], "
                   "weight f32[16]) : f32[5,2,4]"),
            10 * 112);
}

TEST(RecurrentMacs, AddLayersAndDirections) {
  EXPECT_EQ(MacsOf(std::string("%y = gru(input f32[5,2,3], input f32[4,2,4], "
                               "weight f32[12,3], weight f32[12,4], "
                               "weight f32[12,3], weight f32[12,4], "
                               "weight f32[12,8], weight f32[12,4], "
                               "weight f32[12,8], weight f32[12,4]) "
                               "{num_layers=2, bidirectional=true} : "
                               "f32[5,2,8]")),
            10 * (2 * (36 + 48) + 2 * (96 + 48)));
}

TEST(RecurrentMacs, OfAPackedSequenceCountItsTokens) {
  EXPECT_EQ(MacsOf("%y = rnn_tanh(input f32[7,3], input i64[4], input "
                   "f32[1,2,4], weight f32[4,3], weight f32[4,4]) : f32[7,4]"),
            7 * 28);
}

TEST(RecurrentMacs, OfACellLeaveOutItsHiddenState) {
  EXPECT_EQ(MacsOf("%h = lstm_cell(input f32[2,3], input f32[2,4], input "
                   "f32[2,4], weight f32[16,3], weight f32[16,4]) : f32[2,4]"),
            2 * 112);
  EXPECT_EQ(MacsOf("%h = gru_cell(input f32[2,3], input f32[2,4], weight "
                   "f32[12,3], weight f32[12,4]) : f32[2,4]"),
            2 * 84);
  // A state on the host is no operand of the device.
  EXPECT_EQ(MacsOf("%h = gru_cell(input f32[2,3], weight f32[12,3], weight "
                   "f32[12,4], weight f32[12], weight f32[12]) : f32[2,4]"),
            2 * 84);
}

TEST(RecurrentMacs, OfTheBackwardPassAreTwoForwards) {
  EXPECT_EQ(MacsOf("%g = _cudnn_rnn_backward(input f32[5,2,3], weight "
                   "f32[16,3], weight f32[16,4], weight f32[144], input "
                   "f32[1,2,4]) : f32[5,2,3]"),
            2 * 10 * 112);
}

}  // namespace
}  // namespace foretell
