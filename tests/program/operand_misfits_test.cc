// One call that does not fit for each row in src/program/checks that
// operand_checks_test does not know, and what is said of some.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "src/program/recorder.h"
#include "tests/program/operands.h"

namespace foretell {
namespace {

using operand_test::Ints;
using operand_test::Misfit;
using operand_test::Operands;
using operand_test::Refuses;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMean = at::Reduction::Mean;

const Misfit kMoreMisfits[] = {
    // Products.
    {"addbmm with a longer sum",
     [](const Operands& o) {
       at::addbmm(o.F({5}), o.F({2, 3, 3}), o.F({2, 3, 4}));
     }},
    {"addbmm of other batches",
     [](const Operands& o) {
       at::addbmm(o.F({3, 4}), o.F({2, 3, 3}), o.F({3, 3, 4}));
     }},
    {"addbmm of two types",
     [](const Operands& o) {
       at::addbmm(o.F({3, 4}), o.F({2, 3, 3}), o.H({2, 3, 4}));
     }},
    {"addmv of two types",
     [](const Operands& o) {
       at::addmv(o.F({3}), o.F({3, 4}), o.H({4}));
     }},
    {"addr with a sum of three dimensions",
     [](const Operands& o) {
       at::addr(o.F({1, 3, 4}), o.F({3}), o.F({4}));
     }},
    {"addr in place with a sum that grows",
     [](const Operands& o) {
       o.F({1, 4}).addr_(o.F({3}), o.F({4}));
     }},
    {"dot of other lengths",
     [](const Operands& o) { at::dot(o.F({3}), o.F({4})); }},
    {"dot of matrices",
     [](const Operands& o) {
       at::dot(o.F({3, 1}), o.F({3, 1}));
     }},
    {"vdot of two types",
     [](const Operands& o) { at::vdot(o.F({3}), o.H({3})); }},
    {"matmul of vectors of other lengths",
     [](const Operands& o) { at::matmul(o.F({3}), o.F({4})); }},
    {"einsum over an index of two types",
     [](const Operands& o) {
       at::einsum("bij,bjk->bik", {o.F({2, 3, 4}), o.H({2, 4, 5})});
     }},
    {"cdist of two types",
     [](const Operands& o) {
       at::cdist(o.F({3, 4}), o.D({5, 4}));
     }},
    {"cdist of other batches",
     [](const Operands& o) {
       at::cdist(o.F({2, 3, 4}), o.F({3, 5, 4}));
     }},
    {"convolution over time with another bias",
     [](const Operands& o) {
       at::conv_tbc(o.F({4, 2, 3}), o.F({2, 3, 5}), o.F({4}), 0);
     }},
    {"weight norm of two types",
     [](const Operands& o) {
       at::_weight_norm(o.F({3, 4}), o.H({3, 1}));
     }},
    {"cross product of two types",
     [](const Operands& o) {
       at::cross(o.F({2, 3}), o.H({2, 3}), 1);
     }},
    {"complex of two types",
     [](const Operands& o) { at::complex(o.F({3}), o.D({3})); }},
    {"polar of two types",
     [](const Operands& o) { at::polar(o.F({3}), o.D({3})); }},
    // Convolutions.
    {"convolution as a trace calls it, of an image without a batch",
     [](const Operands& o) {
       at::convolution(o.F({3, 8, 8}), o.F({4, 3, 3, 3}), {}, Ints{1, 1},
                       Ints{0, 0}, Ints{1, 1}, false, Ints{0, 0}, 1);
     }},
    {"transposed convolution with output padding below zero",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 3, 8, 8}), o.F({3, 4, 3, 3}), {},
                            Ints{2, 2}, Ints{0, 0}, Ints{-1, 0});
     }},
    // Norms.
    {"layer norm with a longer weight",
     [](const Operands& o) {
       at::layer_norm(o.F({2, 6}), Ints{6}, o.F({5}), o.F({6}));
     }},
    {"layer norm with a longer bias",
     [](const Operands& o) {
       at::layer_norm(o.F({2, 6}), Ints{6}, o.F({6}), o.F({1, 6}));
     }},
    {"layer norm of integers",
     [](const Operands& o) {
       at::layer_norm(o.I({2, 6}), Ints{6});
     }},
    {"layer norm of two types",
     [](const Operands& o) {
       at::layer_norm(o.D({2, 6}), Ints{6}, o.F({6}), o.F({6}));
     }},
    {"layer norm whose parameters differ",
     [](const Operands& o) {
       at::layer_norm(o.F({2, 6}), Ints{6}, o.F({6}), o.H({6}));
     }},
    {"group norm of two types",
     [](const Operands& o) {
       at::group_norm(o.F({2, 6, 4}), 2, o.H({6}), o.H({6}));
     }},
    {"group norm of integers",
     [](const Operands& o) {
       at::group_norm(o.I({2, 6, 4}), 2);
     }},
    {"rms norm of integers",
     [](const Operands& o) {
       at::rms_norm(o.I({2, 6}), Ints{6});
     }},
    {"batch norm of two types",
     [](const Operands& o) {
       at::batch_norm(o.F({2, 3, 4}), o.H({3}), o.H({3}), {}, {}, true, 0.1,
                      1e-5, true);
     }},
    {"batch norm of integers",
     [](const Operands& o) {
       at::batch_norm(o.I({2, 3, 4}), {}, {}, {}, {}, true, 0.1, 1e-5, true);
     }},
    {"instance norm of two types",
     [](const Operands& o) {
       at::instance_norm(o.D({2, 3, 4}), o.F({3}), o.F({3}), {}, {}, true, 0.1,
                         1e-5, true);
     }},
    // Recurrence.
    {"LSTM cell with a state of another batch",
     [](const Operands& o) {
       at::lstm_cell(o.F({3, 5}), {o.F({2, 7}), o.F({2, 7})}, o.F({28, 5}),
                     o.F({28, 7}), o.F({28}), o.F({28}));
     }},
    {"LSTM cell with a cell state of other units",
     [](const Operands& o) {
       at::lstm_cell(o.F({3, 5}), {o.F({3, 7}), o.F({3, 8})}, o.F({28, 5}),
                     o.F({28, 7}), o.F({28}), o.F({28}));
     }},
    {"LSTM cell with three gates",
     [](const Operands& o) {
       at::lstm_cell(o.F({3, 5}), {o.F({3, 7}), o.F({3, 7})}, o.F({21, 5}),
                     o.F({21, 7}));
     }},
    {"GRU cell of other features",
     [](const Operands& o) {
       at::gru_cell(o.F({3, 6}), o.F({3, 7}), o.F({21, 5}), o.F({21, 7}));
     }},
    {"GRU cell of two types",
     [](const Operands& o) {
       at::gru_cell(o.F({3, 5}), o.F({3, 7}), o.H({21, 5}), o.H({21, 7}));
     }},
    {"GRU cell with a longer bias",
     [](const Operands& o) {
       at::gru_cell(o.F({3, 5}), o.F({3, 7}), o.F({21, 5}), o.F({21, 7}),
                    o.F({22}), o.F({21}));
     }},
    {"plain cell with another bias",
     [](const Operands& o) {
       at::rnn_tanh_cell(o.F({3, 5}), o.F({3, 7}), o.F({7, 5}), o.F({7, 7}),
                         o.F({8}), o.F({7}));
     }},
    {"GRU with states of other units",
     [](const Operands& o) {
       at::gru(o.F({3, 2, 5}), o.F({1, 2, 8}), {o.F({21, 5}), o.F({21, 7})},
               false, 1, 0, false, false, false);
     }},
    {"GRU of two layers with states of one",
     [](const Operands& o) {
       at::gru(o.F({3, 2, 5}), o.F({1, 2, 7}),
               {o.F({21, 5}), o.F({21, 7}), o.F({21, 7}), o.F({21, 7})}, false,
               2, 0, false, false, false);
     }},
    {"GRU of two types",
     [](const Operands& o) {
       at::gru(o.F({3, 2, 5}), o.H({1, 2, 7}), {o.F({21, 5}), o.F({21, 7})},
               false, 1, 0, false, false, false);
     }},
    {"RNN with too few weights",
     [](const Operands& o) {
       at::rnn_tanh(o.F({3, 2, 5}), o.F({1, 2, 7}), {o.F({7, 5})}, false, 1, 0,
                    false, false, false);
     }},
    {"RNN of a number",
     [](const Operands& o) {
       at::rnn_relu(o.F({}), o.F({1, 2, 7}), {o.F({7, 5}), o.F({7, 7})}, false,
                    1, 0, false, false, false);
     }},
    // Losses.
    {"cross entropy with a longer weight",
     [](const Operands& o) {
       at::cross_entropy_loss(o.F({4, 3}), o.I({4}), o.F({4}));
     }},
    {"cross entropy of integers",
     [](const Operands& o) {
       at::cross_entropy_loss(o.I({4, 3}), o.I({4}));
     }},
    {"cross entropy at floats",
     [](const Operands& o) {
       at::cross_entropy_loss(o.F({4, 3}), o.F({4}));
     }},
    {"cross entropy of an image with another target",
     [](const Operands& o) {
       at::cross_entropy_loss(o.F({2, 3, 4, 4}), o.I({2, 4, 5}));
     }},
    {"cross entropy of an image with a weight of another type",
     [](const Operands& o) {
       at::cross_entropy_loss(o.F({2, 3, 4, 4}), o.I({2, 4, 4}), o.H({3}));
     }},
    {"nll_loss of an image at floats",
     [](const Operands& o) {
       at::nll_loss_nd(o.F({2, 3, 4, 4}), o.F({2, 4, 4}));
     }},
    {"nll_loss2d with a longer weight",
     [](const Operands& o) {
       at::nll_loss2d(o.F({2, 3, 4, 4}), o.I({2, 4, 4}), o.F({4}));
     }},
    {"binary cross entropy of two types",
     [](const Operands& o) {
       at::binary_cross_entropy(o.F({3, 4}), o.H({3, 4}));
     }},
    {"binary cross entropy with another weight",
     [](const Operands& o) {
       at::binary_cross_entropy(o.F({3, 4}), o.F({3, 4}), o.F({2, 3, 4}));
     }},
    {"binary cross entropy of integers with logits",
     [](const Operands& o) {
       at::binary_cross_entropy_with_logits(o.I({3}), o.F({3}));
     }},
    {"huber loss of other shapes",
     [](const Operands& o) {
       at::huber_loss(o.F({3, 4}), o.F({3, 5}));
     }},
    {"huber loss without delta",
     [](const Operands& o) { at::huber_loss(o.F({3}), o.F({3}), kMean, 0); }},
    {"margin loss at floats",
     [](const Operands& o) {
       at::multi_margin_loss(o.F({3, 4}), o.F({3}));
     }},
    {"margin loss of the third power",
     [](const Operands& o) {
       at::multi_margin_loss(o.F({3, 4}), o.I({3}), 3);
     }},
    {"margin loss of labels of another shape",
     [](const Operands& o) {
       at::multilabel_margin_loss(o.F({3, 4}), o.I({4}));
     }},
    {"ctc_loss of another batch",
     [](const Operands& o) {
       at::ctc_loss(o.F({5, 2, 4}), o.I({2, 3}), o.I({3}), o.I({3}));
     }},
    {"ctc_loss whose blank is no class",
     [](const Operands& o) {
       at::ctc_loss(o.F({5, 2, 4}), o.I({2, 3}), o.I({2}), o.I({2}), 4);
     }},
    // Masks.
    {"masked_fill by numbers",
     [](const Operands& o) { at::masked_fill(o.F({3}), o.I({3}), 0); }},
    {"masked_fill with a vector",
     [](const Operands& o) { at::masked_fill(o.F({3}), o.B({3}), o.F({1})); }},
    {"masked_fill in place by a wider mask",
     [](const Operands& o) {
       o.F({1, 4}).masked_fill_(o.B({3, 4}), 0);
     }},
    {"masked_fill of halves with -1e9",
     [](const Operands& o) { at::masked_fill(o.H({3}), o.B({3}), -1e9); }},
    {"masked_fill of integers with minus infinity",
     [](const Operands& o) {
       at::masked_fill(o.I({3}), o.B({3}), -kInfinity);
     }},
    {"fill of halves with 1e6", [](const Operands& o) { o.H({3}).fill_(1e6); }},
    {"masked_scatter by numbers",
     [](const Operands& o) {
       at::masked_scatter(o.F({3}), o.I({3}), o.F({3}));
     }},
    {"masked_scatter of two types",
     [](const Operands& o) {
       at::masked_scatter(o.F({3}), o.B({3}), o.H({3}));
     }},
    {"where by numbers",
     [](const Operands& o) { at::where(o.I({3}), o.F({3}), o.F({3})); }},
    // Indices.
    {"index_put by a mask of another shape",
     [](const Operands& o) {
       at::index_put(o.F({3, 4}), {o.B({4})}, o.F({}));
     }},
    {"index_put at floats",
     [](const Operands& o) { at::index_put(o.F({3}), {o.F({2})}, o.F({2})); }},
    {"index_fill over no dimension",
     [](const Operands& o) { at::index_fill(o.F({3}), 1, o.I({1}), 0); }},
    {"index_select of a number at two places",
     [](const Operands& o) { at::index_select(o.F({}), 0, o.I({2})); }},
    {"put of another length",
     [](const Operands& o) { at::put(o.F({3}), o.I({2}), o.F({3})); }},
    {"take at floats", [](const Operands& o) { at::take(o.F({3}), o.F({2})); }},
    {"embedding bag at floats",
     [](const Operands& o) {
       at::embedding_bag(o.F({5, 4}), o.F({6}), o.I({2}));
     }},
    {"embedding bag of integers",
     [](const Operands& o) {
       at::embedding_bag(o.I({5, 4}), o.I({6}), o.I({2}));
     }},
    {"one_hot without classes",
     [](const Operands& o) { at::one_hot(o.I({3}), 0); }},
    {"repeat_interleave by floats",
     [](const Operands& o) {
       at::repeat_interleave(o.F({3}), o.F({3}), 0, 0);
     }},
    {"bucketize with a matrix",
     [](const Operands& o) {
       at::bucketize(o.F({3}), o.F({2, 4}));
     }},
    {"searchsorted in a number",
     [](const Operands& o) { at::searchsorted(o.F({}), o.F({3})); }},
    // Attention.
    {"attention of two types",
     [](const Operands& o) {
       at::scaled_dot_product_attention(o.F({2, 5, 8}), o.H({2, 5, 8}),
                                        o.H({2, 5, 8}));
     }},
    {"attention with a mask of integers",
     [](const Operands& o) {
       at::scaled_dot_product_attention(o.F({2, 5, 8}), o.F({2, 5, 8}),
                                        o.F({2, 5, 8}), o.I({5, 5}));
     }},
    {"attention of a vector",
     [](const Operands& o) {
       at::scaled_dot_product_attention(o.F({8}), o.F({5, 8}), o.F({5, 8}));
     }},
    {"heads that do not divide the features",
     [](const Operands& o) {
       const at::Tensor x = o.F({2, 3, 8});
       at::_native_multi_head_attention(x, x, x, 8, 3, o.F({24, 8}), o.F({24}),
                                        o.F({8, 8}), o.F({8}));
     }},
    // Images.
    {"grid_sample of another batch",
     [](const Operands& o) {
       at::grid_sampler(o.F({2, 3, 8, 8}), o.F({3, 4, 4, 2}), 0, 0, false);
     }},
    {"grid_sample at places in three dimensions",
     [](const Operands& o) {
       at::grid_sampler(o.F({2, 3, 8, 8}), o.F({2, 4, 4, 3}), 0, 0, false);
     }},
    {"reflection padding beyond the image",
     [](const Operands& o) {
       at::reflection_pad2d(o.F({1, 3, 4, 4}), Ints{4, 0, 0, 0});
     }},
    {"reflection padding of flags",
     [](const Operands& o) {
       at::reflection_pad1d(o.B({3, 4}), Ints{1, 1});
     }},
    {"reflection padding of five dimensions",
     [](const Operands& o) {
       at::reflection_pad2d(o.F({2, 1, 3, 4, 4}), Ints{1, 1, 1, 1});
     }},
    {"circular padding beyond the image",
     [](const Operands& o) {
       at::pad(o.F({1, 3, 4}), Ints{5, 0}, "circular");
     }},
    {"channel_shuffle in groups that do not divide",
     [](const Operands& o) {
       at::channel_shuffle(o.F({1, 8, 3, 3}), 3);
     }},
    {"fold of other columns",
     [](const Operands& o) {
       at::col2im(o.F({2, 12, 8}), Ints{4, 4}, Ints{2, 2}, Ints{1, 1},
                  Ints{0, 0}, Ints{1, 1});
     }},
    {"unfold without stride",
     [](const Operands& o) {
       at::im2col(o.F({2, 3, 4, 4}), Ints{2, 2}, Ints{1, 1}, Ints{0, 0},
                  Ints{0, 1});
     }},
    {"unpooling at places of another shape",
     [](const Operands& o) {
       at::max_unpool2d(o.F({1, 3, 4, 4}), o.I({1, 3, 4, 3}), Ints{8, 8});
     }},
    {"max pooling in three dimensions padded by a window",
     [](const Operands& o) {
       at::max_pool3d(o.F({1, 3, 8, 8, 8}), Ints{2}, Ints{2}, Ints{2});
     }},
    {"adaptive pooling of five dimensions",
     [](const Operands& o) {
       at::adaptive_avg_pool2d(o.F({1, 1, 3, 8, 8}), Ints{2, 2});
     }},
    {"fractional pooling of other channels",
     [](const Operands& o) {
       at::fractional_max_pool2d(o.F({1, 3, 8, 8}), Ints{2, 2}, Ints{4, 4},
                                 o.F({1, 4, 2}));
     }},
    // Dimensions.
    {"roll by two numbers along one dimension",
     [](const Operands& o) {
       at::roll(o.F({3, 4}), Ints{1, 2}, Ints{0});
     }},
    {"roll without a number",
     [](const Operands& o) {
       at::roll(o.F({3, 4}), Ints{});
     }},
    {"roll of no dimension",
     [](const Operands& o) {
       at::roll(o.F({3, 4}), Ints{1}, Ints{2});
     }},
    {"flip of a dimension twice",
     [](const Operands& o) {
       at::flip(o.F({3, 4}), Ints{1, -1});
     }},
    {"kthvalue beyond the end",
     [](const Operands& o) {
       at::kthvalue(o.F({3, 4}), 5);
     }},
    {"multinomial of integers",
     [](const Operands& o) { at::multinomial(o.I({3}), 1); }},
    {"multinomial of more than there are",
     [](const Operands& o) { at::multinomial(o.F({3}), 4); }},
    {"variance of a dimension twice",
     [](const Operands& o) {
       at::var(o.F({3, 4}), at::IntArrayRef{1, 1});
     }},
    {"trace of a vector", [](const Operands& o) { at::trace(o.F({3})); }},
    {"as_strided beyond the storage",
     [](const Operands& o) {
       o.F({3, 4}).as_strided({4, 4}, {4, 1});
     }},
    // Types that have no kernel.
    {"dropout of integers",
     [](const Operands& o) { at::dropout(o.I({3}), 0.5, true); }},
    {"gelu of another kind",
     [](const Operands& o) { at::gelu(o.F({3}), "erf"); }},
    {"mish of integers", [](const Operands& o) { at::mish(o.I({3})); }},
    {"adaptive pooling of integers",
     [](const Operands& o) {
       at::adaptive_avg_pool2d(o.I({1, 3, 8, 8}), Ints{2, 2});
     }},
    {"max pooling of flags",
     [](const Operands& o) {
       at::max_pool2d(o.B({1, 3, 8, 8}), Ints{2});
     }},
    {"nearest resizing of integers",
     [](const Operands& o) {
       at::upsample_nearest2d(o.I({1, 3, 8, 8}), Ints{4, 4});
     }},
    {"bits shifted by floats",
     [](const Operands& o) { at::bitwise_left_shift(o.I({3}), o.F({3})); }},
    {"a difference of flags",
     [](const Operands& o) { at::rsub(o.B({3}), o.F({3})); }},
};

class OperandMisfits : public testing::TestWithParam<Misfit> {
 protected:
  OperandMisfits() { InitializeTracing(); }
};

TEST_P(OperandMisfits, AreRefusedOnBothDevices) {
  ASSERT_TRUE(Refuses(GetParam(), at::kCPU)) << "no misfit";
  const Recorder recorder({}, at::kMeta);
  EXPECT_TRUE(Refuses(GetParam(), at::kMeta)) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Families, OperandMisfits,
                         testing::ValuesIn(kMoreMisfits));

/// What is said of `call` on meta; empty when it is taken.
std::string SaidOnMeta(void (*call)(const Operands&)) {
  InitializeTracing();
  const Recorder recorder({}, at::kMeta);
  try {
    call(Operands(at::kMeta));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
}

TEST(OperandMessages, NameTheOperatorTheOperandAndBothValues) {
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::layer_norm(o.F({2, 6}), Ints{6}, o.F({5}), o.F({6}));
            }),
            "aten::layer_norm has a weight of shape [5], expected [6]");
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::masked_fill(o.H({3}), o.B({3}), -1e9);
            }),
            "aten::masked_fill writes -1000000000 into elements of type f16, "
            "which do not hold it");
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::where(o.I({3}), o.F({3}), o.F({3}));
            }),
            "aten::where has a condition of type i64, expected bool or u8");
}

// The CPU converts such parameters; the kernels of CUDA do not, as seen on an
// H200 ("expected scalar type Half but found Float").
TEST(OperandMessages, RefuseWideParametersOfANormOfHalves) {
  EXPECT_THAT(SaidOnMeta([](const Operands& o) {
                at::layer_norm(o.H({2, 6}), Ints{6}, o.F({6}), o.F({6}));
              }),
              HasSubstr("parameters of type f32 and an input of type f16"));
  EXPECT_THAT(SaidOnMeta([](const Operands& o) {
                at::group_norm(o.H({2, 6, 4}), 2, o.F({6}), o.F({6}));
              }),
              HasSubstr("parameters of type f32 and an input of type f16"));
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::batch_norm(o.H({2, 6, 4}), o.F({6}), o.F({6}), {}, {}, true,
                             0.1, 1e-5, true);
            }),
            "");
}

// oneDNN reads beyond such weights on the CPU; cuDNN refuses them.
TEST(OperandMessages, RefuseWeightsOfAnLstmThatDoNotFit) {
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::lstm(o.F({3, 2, 5}), {o.F({1, 2, 7}), o.F({1, 2, 7})},
                       {o.F({28, 6}), o.F({28, 7})}, false, 1, 0, false, false,
                       false);
            }),
            "aten::lstm has a weight of the input of shape [28,6], expected "
            "[28,5]");
  EXPECT_EQ(SaidOnMeta([](const Operands& o) {
              at::lstm(o.F({3, 2, 5}), {o.F({1, 4, 7}), o.F({1, 4, 7})},
                       {o.F({28, 5}), o.F({28, 7})}, false, 1, 0, false, false,
                       false);
            }),
            "aten::lstm has a state of shape [1,4,7], expected [1,2,7]");
}

}  // namespace
}  // namespace foretell
