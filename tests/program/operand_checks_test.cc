// Calls with operands that do not fit. The oracle is LibTorch itself: what its
// kernels for the CPU refuse, a trace on meta has to refuse.
#include "src/program/operand_checks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "foretell/trace.h"
#include "src/program/recorder.h"
#include "tests/program/operands.h"

namespace foretell {
namespace {

using at::Tensor;
using operand_test::Ints;
using operand_test::Misfit;
using operand_test::Operands;
using operand_test::Refuses;

const Misfit kMisfits[] = {
    // Products.
    {"addmm with a wider sum",
     [](const Operands& o) {
       at::addmm(o.F({1, 4}), o.F({3, 3}), o.F({3, 1}));
     }},
    {"addmm with a sum of another length",
     [](const Operands& o) {
       at::addmm(o.F({5}), o.F({3, 3}), o.F({3, 4}));
     }},
    {"addmm with a sum of three dimensions",
     [](const Operands& o) {
       at::addmm(o.F({2, 3, 4}), o.F({3, 3}), o.F({3, 4}));
     }},
    {"addmm in place with a sum that grows",
     [](const Operands& o) {
       o.F({1, 4}).addmm_(o.F({3, 3}), o.F({3, 4}));
     }},
    {"baddbmm with a wider sum",
     [](const Operands& o) {
       at::baddbmm(o.F({2, 1, 4}), o.F({2, 3, 3}), o.F({2, 3, 1}));
     }},
    {"baddbmm with a sum of another length",
     [](const Operands& o) {
       at::baddbmm(o.F({2, 1, 5}), o.F({2, 3, 3}), o.F({2, 3, 4}));
     }},
    {"addmv with a wider sum",
     [](const Operands& o) {
       at::addmv(o.F({4}), o.F({1, 3}), o.F({3}));
     }},
    {"linear with a longer bias",
     [](const Operands& o) {
       at::linear(o.F({3, 4}), o.F({5, 4}), o.F({4}));
     }},
    {"linear of one feature with a wider bias",
     [](const Operands& o) {
       at::linear(o.F({3, 4}), o.F({1, 4}), o.F({4}));
     }},
    {"linear of one feature with a bias of two dimensions",
     [](const Operands& o) {
       at::linear(o.F({3, 4}), o.F({1, 4}), o.F({3, 4}));
     }},
    {"linear of three dimensions with a wider bias",
     [](const Operands& o) {
       at::linear(o.F({2, 3, 4}), o.F({1, 4}), o.F({4}));
     }},
    {"linear of a vector with a wider bias",
     [](const Operands& o) {
       at::linear(o.F({4}), o.F({1, 4}), o.F({4}));
     }},
    {"bilinear with another bias",
     [](const Operands& o) {
       at::bilinear(o.F({3, 4}), o.F({3, 5}), o.F({6, 4, 5}), o.F({4}));
     }},
    // Convolutions.
    {"convolution with another bias",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), o.F({3}));
     }},
    {"convolution with a bias of two dimensions",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), o.F({4, 1}));
     }},
    {"convolution with padding below zero",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), {}, Ints{1, 1},
                  Ints{-1, -1});
     }},
    {"convolution without dilation",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), {}, Ints{1, 1},
                  Ints{0, 0}, Ints{0, 0});
     }},
    {"convolution without stride",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), {}, Ints{0, 0});
     }},
    {"convolution in groups that do not divide the filters",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 1, 3, 3}), {}, Ints{1, 1},
                  Ints{0, 0}, Ints{1, 1}, 3);
     }},
    {"convolution of two types",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.H({4, 3, 3, 3}));
     }},
    {"convolution with a bias of another type",
     [](const Operands& o) {
       at::conv1d(o.F({1, 3, 8}), o.F({4, 3, 3}), o.H({4}));
     }},
    {"transposed convolution with another bias",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 3, 8, 8}), o.F({3, 4, 3, 3}), o.F({3}));
     }},
    {"transposed convolution of two types",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 3, 8, 8}), o.H({3, 4, 3, 3}));
     }},
    {"transposed convolution of other channels",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 3, 8, 8}), o.F({4, 4, 3, 3}));
     }},
    {"transposed convolution with output padding beyond the stride",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 3, 8, 8}), o.F({3, 4, 3, 3}), {},
                            Ints{1, 1}, Ints{0, 0}, Ints{2, 2});
     }},
    // Normalization.
    {"batch norm of other channels",
     [](const Operands& o) {
       at::batch_norm(o.F({2, 3, 4}), o.F({4}), o.F({4}), o.F({3}), o.F({3}),
                      false, 0.1, 1e-5, true);
     }},
    {"batch norm with statistics of other channels",
     [](const Operands& o) {
       at::batch_norm(o.F({2, 3, 4}), o.F({3}), o.F({3}), o.F({4}), o.F({4}),
                      false, 0.1, 1e-5, true);
     }},
    {"batch norm with another bias",
     [](const Operands& o) {
       at::batch_norm(o.F({2, 3, 4}), o.F({3}), o.F({4}), o.F({3}), o.F({3}),
                      true, 0.1, 1e-5, true);
     }},
    {"instance norm of other channels",
     [](const Operands& o) {
       at::instance_norm(o.F({2, 3, 4}), o.F({4}), o.F({4}), {}, {}, true, 0.1,
                         1e-5, true);
     }},
    {"rms norm with another weight",
     [](const Operands& o) {
       at::rms_norm(o.F({2, 3, 4}), Ints{4}, o.F({3}));
     }},
    {"group norm with another weight",
     [](const Operands& o) {
       at::group_norm(o.F({2, 6, 4}), 3, o.F({3}), o.F({3}));
     }},
    {"group norm of groups that do not divide the channels",
     [](const Operands& o) {
       at::group_norm(o.F({2, 6, 4}), 4);
     }},
    // Indices.
    {"embedding at floats",
     [](const Operands& o) {
       at::embedding(o.F({10, 4}), o.F({2}));
     }},
    {"embedding of a vector",
     [](const Operands& o) { at::embedding(o.F({10}), o.I({2})); }},
    {"index_select at floats",
     [](const Operands& o) {
       at::index_select(o.F({3, 4}), 0, o.F({2}));
     }},
    {"index_select at a matrix",
     [](const Operands& o) {
       at::index_select(o.F({3, 4}), 0, o.I({2, 2}));
     }},
    {"index at floats",
     [](const Operands& o) {
       at::index(o.F({3, 4}), {std::optional<Tensor>(o.F({2}))});
     }},
    {"index at too many",
     [](const Operands& o) {
       const std::optional<Tensor> two = o.I({2});
       at::index(o.F({3, 4}), {two, two, two});
     }},
    {"index_put of another shape",
     [](const Operands& o) {
       at::index_put(o.F({3, 4}), {std::optional<Tensor>(o.I({2}))},
                     o.F({3, 4}));
     }},
    {"index_put of another type",
     [](const Operands& o) {
       at::index_put(o.F({3, 4}), {std::optional<Tensor>(o.I({2}))},
                     o.I({2, 4}));
     }},
    {"index_add of another shape",
     [](const Operands& o) {
       at::index_add(o.F({3, 4}), 0, o.I({2}), o.F({2, 5}));
     }},
    {"index_add of another length",
     [](const Operands& o) {
       at::index_add(o.F({3, 4}), 0, o.I({2}), o.F({3, 4}));
     }},
    {"index_add of another type",
     [](const Operands& o) {
       at::index_add(o.F({3, 4}), 0, o.I({2}), o.H({2, 4}));
     }},
    {"index_copy of another length",
     [](const Operands& o) {
       at::index_copy(o.F({3, 4}), 0, o.I({2}), o.F({3, 4}));
     }},
    {"gather at floats",
     [](const Operands& o) {
       at::gather(o.F({3, 4}), 0, o.F({3, 4}));
     }},
    {"gather of another rank",
     [](const Operands& o) {
       at::gather(o.F({3, 4}), 0, o.I({3}));
     }},
    {"gather beyond the operand",
     [](const Operands& o) {
       at::gather(o.F({3, 4}), 0, o.I({3, 5}));
     }},
    {"scatter beyond the operand",
     [](const Operands& o) {
       at::scatter(o.F({3, 4}), 0, o.I({3, 5}), o.F({3, 5}));
     }},
    {"scatter of too few",
     [](const Operands& o) {
       at::scatter(o.F({3, 4}), 0, o.I({3, 4}), o.F({2, 4}));
     }},
    {"scatter of another type",
     [](const Operands& o) {
       at::scatter(o.F({3, 4}), 0, o.I({3, 4}), o.I({3, 4}));
     }},
    {"scatter_add beyond the operand",
     [](const Operands& o) {
       at::scatter_add(o.F({3, 4}), 0, o.I({3, 5}), o.F({3, 5}));
     }},
    {"masked_fill of another shape",
     [](const Operands& o) {
       at::masked_fill(o.F({3, 4}), o.B({3, 5}), 0);
     }},
    // Shapes.
    {"cat of other widths",
     [](const Operands& o) {
       at::cat({o.F({2, 3}), o.F({3, 4})});
     }},
    {"stack of other shapes",
     [](const Operands& o) {
       at::stack({o.F({2, 3}), o.F({3, 3})});
     }},
    {"expand to another size",
     [](const Operands& o) {
       o.F({3, 4}).expand({3, 5});
     }},
    {"expand to a lower rank",
     [](const Operands& o) {
       o.F({3, 4}).expand({4});
     }},
    {"reshape to another size",
     [](const Operands& o) {
       o.F({3, 4}).reshape({5, 3});
     }},
    {"softmax over no dimension",
     [](const Operands& o) {
       at::softmax(o.F({3, 4}), 2);
     }},
    {"sort over no dimension",
     [](const Operands& o) {
       at::sort(o.F({3, 4}), 2);
     }},
    {"sum in place that grows",
     [](const Operands& o) {
       o.F({3, 1}).add_(o.F({3, 5}));
     }},
    {"product in place of another type",
     [](const Operands& o) {
       o.I({3, 1}).mul_(o.F({3, 1}));
     }},
    {"addcmul of other shapes",
     [](const Operands& o) {
       at::addcmul(o.F({3, 4}), o.F({3, 4}), o.F({3, 5}));
     }},
    {"lerp of another type",
     [](const Operands& o) {
       at::lerp(o.F({3, 4}), o.H({3, 4}), 0.5);
     }},
    // Types that have no kernel.
    {"softmax of integers",
     [](const Operands& o) {
       at::softmax(o.I({3, 4}), 1);
     }},
    {"log_softmax of integers",
     [](const Operands& o) {
       at::log_softmax(o.I({3, 4}), 1);
     }},
    {"gelu of integers",
     [](const Operands& o) {
       at::gelu(o.I({3, 4}));
     }},
    {"silu of integers",
     [](const Operands& o) {
       at::silu(o.I({3, 4}));
     }},
    {"relu of flags",
     [](const Operands& o) {
       at::relu(o.B({3, 4}));
     }},
    {"mean of integers",
     [](const Operands& o) {
       at::mean(o.I({3, 4}));
     }},
    {"var of integers",
     [](const Operands& o) {
       at::var(o.I({3, 4}));
     }},
    {"bilinear resizing of integers",
     [](const Operands& o) {
       at::upsample_bilinear2d(o.I({1, 3, 8, 8}), Ints{4, 4}, false);
     }},
    {"bitwise and of floats",
     [](const Operands& o) { at::bitwise_and(o.F({3}), o.F({3})); }},
    // Images and the rest.
    {"bilinear resizing of three dimensions",
     [](const Operands& o) {
       at::upsample_bilinear2d(o.F({3, 8, 8}), Ints{4, 4}, false);
     }},
    {"max pooling padded by a window",
     [](const Operands& o) {
       at::max_pool2d(o.F({1, 3, 8, 8}), Ints{2, 2}, Ints{2, 2}, Ints{2, 2});
     }},
    {"average pooling padded by a window",
     [](const Operands& o) {
       at::avg_pool2d(o.F({1, 3, 8, 8}), Ints{2, 2}, Ints{2, 2}, Ints{2, 2});
     }},
    {"pixel_shuffle of other channels",
     [](const Operands& o) {
       at::pixel_shuffle(o.F({1, 6, 4, 4}), 2);
     }},
    {"grid_sample of two types",
     [](const Operands& o) {
       at::grid_sampler(o.F({2, 3, 8, 8}), o.H({2, 4, 4, 2}), 0, 0, false);
     }},
    {"prelu of other channels",
     [](const Operands& o) {
       at::prelu(o.F({2, 3, 4}), o.F({2}));
     }},
    {"nll_loss of another batch",
     [](const Operands& o) {
       at::nll_loss(o.F({3, 4}), o.I({4}));
     }},
    {"attention of other features",
     [](const Operands& o) {
       at::scaled_dot_product_attention(o.F({2, 3, 5, 8}), o.F({2, 3, 6, 9}),
                                        o.F({2, 3, 6, 8}));
     }},
    {"attention with another mask",
     [](const Operands& o) {
       at::scaled_dot_product_attention(o.F({2, 3, 5, 8}), o.F({2, 3, 6, 8}),
                                        o.F({2, 3, 6, 8}), o.F({5, 5}));
     }},
};

class OperandChecks : public testing::TestWithParam<Misfit> {
 protected:
  OperandChecks() { InitializeTracing(); }
};

TEST_P(OperandChecks, RefusesOnMetaWhatTheCpuRefuses) {
  ASSERT_TRUE(Refuses(GetParam(), at::kCPU)) << "no misfit";
  const Recorder recorder({}, at::kMeta);
  EXPECT_TRUE(Refuses(GetParam(), at::kMeta)) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Misfits, OperandChecks, testing::ValuesIn(kMisfits));

/// Calls that the rules above must let pass.
const Misfit kFits[] = {
    {"addmm of a row",
     [](const Operands& o) {
       at::addmm(o.F({4}), o.F({3, 3}), o.F({3, 4}));
     }},
    {"addmm of a column",
     [](const Operands& o) {
       at::addmm(o.F({3, 1}), o.F({3, 3}), o.F({3, 4}));
     }},
    {"linear of a vector",
     [](const Operands& o) {
       at::linear(o.F({4}), o.F({5, 4}), o.F({5}));
     }},
    {"linear with a matrix for a bias",
     [](const Operands& o) {
       at::linear(o.F({3, 4}), o.F({5, 4}), o.F({3, 5}));
     }},
    {"convolution padded by a word",
     [](const Operands& o) {
       at::conv2d(o.F({1, 3, 8, 8}), o.F({4, 3, 3, 3}), o.F({4}), Ints{1, 1},
                  "same");
     }},
    {"convolution of an image without a batch",
     [](const Operands& o) {
       at::conv2d(o.F({3, 8, 8}), o.F({4, 3, 3, 3}), o.F({4}));
     }},
    {"transposed convolution in groups",
     [](const Operands& o) {
       at::conv_transpose2d(o.F({1, 4, 8, 8}), o.F({4, 3, 3, 3}), o.F({6}),
                            Ints{2, 2}, Ints{0, 0}, Ints{1, 1}, 2);
     }},
    {"index_select at a number",
     [](const Operands& o) {
       at::index_select(o.F({3, 4}), 0, o.I({}));
     }},
    {"index_put of a row at indices that are apart",
     [](const Operands& o) {
       const std::optional<Tensor> two = o.I({2});
       at::index_put(o.F({3, 4, 5}), {two, std::nullopt, two}, o.F({2, 4}));
     }},
    {"index_put of a number by a mask",
     [](const Operands& o) {
       at::index_put(o.F({3, 4}), {std::optional<Tensor>(o.B({3}))}, o.F({}));
     }},
    {"index_add along the last dimension",
     [](const Operands& o) {
       at::index_add(o.F({3, 4}), -1, o.I({2}), o.F({3, 2}));
     }},
    {"softmax of integers as floats",
     [](const Operands& o) {
       at::softmax(o.I({3, 4}), 1, at::kFloat);
     }},
    {"softmax of a number", [](const Operands& o) { at::softmax(o.F({}), 0); }},
};

TEST(OperandsThatFit, ArePassedOn) {
  InitializeTracing();
  for (const Misfit& fit : kFits) {
    ASSERT_FALSE(Refuses(fit, at::kCPU)) << fit.name;
    const Recorder recorder({}, at::kMeta);
    EXPECT_FALSE(Refuses(fit, at::kMeta)) << fit.name;
  }
}

}  // namespace
}  // namespace foretell
