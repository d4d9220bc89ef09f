// Operators of networks' layers, on the meta device against the CPU.

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "src/program/meta/meta_kernels.h"
#include "tests/program/meta_harness.h"

namespace foretell::meta_test {
namespace {

TEST(MetaConvolution, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"conv1d",
       {F({2, 4, 9}), F({6, 4, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv1d(t[0], t[1], t[2], 2, 1)};
       }},
      {"conv2d",
       {F({2, 4, 9, 8}), F({6, 4, 3, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], t[2], 2, 1)};
       }},
      {"conv2d without bias, dilated, grouped",
       {F({2, 4, 9, 8}), F({6, 2, 3, 3})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], {}, 1, {2, 1}, {2, 1}, 2)};
       }},
      {"conv2d channels-last input",
       {Last({2, 4, 9, 8}), F({6, 4, 3, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], t[2])};
       },
       Agree::kShape},
      {"conv2d unbatched",
       {F({4, 9, 8}), F({6, 4, 3, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], t[2])};
       }},
      {"conv2d padding same",
       {F({2, 4, 9, 8}), F({6, 4, 3, 4})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], {}, 1, "same")};
       }},
      {"conv2d bfloat16",
       {Half({2, 4, 9, 8}), Half({6, 4, 3, 3}), Half({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv2d(t[0], t[1], t[2])};
       }},
      {"conv3d",
       {F({2, 4, 5, 9, 8}), F({6, 4, 3, 3, 1}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv3d(t[0], t[1], t[2], 2, 1)};
       }},
      {"conv_transpose1d",
       {F({2, 4, 9}), F({4, 6, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv_transpose1d(t[0], t[1], t[2], 2, 1, 1)};
       }},
      {"conv_transpose2d",
       {F({2, 4, 9, 8}), F({4, 3, 3, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv_transpose2d(t[0], t[1], t[2], 2, 1, 1, 2)};
       }},
      {"conv_transpose3d",
       {F({2, 4, 3, 5, 4}), F({4, 6, 2, 2, 2}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv_transpose3d(t[0], t[1], t[2], 2)};
       }},
      {"_convolution of a traced module",
       {F({2, 4, 9, 8}), F({6, 4, 3, 3}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::_convolution(t[0], t[1], t[2], {1, 1}, {1, 1}, {1, 1},
                                  false, {0, 0}, 1, false, false, true, true)};
       }},
      {"conv_tbc",
       {F({7, 2, 4}), F({3, 4, 6}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::conv_tbc(t[0], t[1], t[2], 1)};
       }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaNormalization, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"batch_norm training",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         const at::Tensor mean = at::zeros({6}, t[0].options());
         const at::Tensor var = at::ones({6}, t[0].options());
         return {at::batch_norm(t[0], t[1], t[2], mean, var, true, 0.1, 1e-5,
                                true)};
       }},
      {"batch_norm training channels-last",
       {Last({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {
             at::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, true)};
       }},
      {"batch_norm evaluation",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         const at::Tensor mean = at::zeros({6}, t[0].options());
         const at::Tensor var = at::ones({6}, t[0].options());
         return {at::batch_norm(t[0], t[1], t[2], mean, var, false, 0.1, 1e-5,
                                true)};
       }},
      {"batch_norm of a matrix",
       {F({4, 6}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {
             at::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, true)};
       }},
      {"native_batch_norm statistics",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         const auto [out, mean, invstd] =
             at::native_batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5);
         return {out, mean, invstd};
       }},
      {"instance_norm",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::instance_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5,
                                   true)};
       }},
      {"layer_norm",
       {F({4, 6, 8}), F({8}), F({8})},
       [](const Tensors& t) -> Tensors {
         return {at::layer_norm(t[0], {8}, t[1], t[2])};
       }},
      {"layer_norm without parameters",
       {F({4, 6, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::layer_norm(t[0], {6, 8})};
       }},
      {"native_layer_norm statistics",
       {F({4, 6, 8}), F({8}), F({8})},
       [](const Tensors& t) -> Tensors {
         const auto [out, mean, rstd] =
             at::native_layer_norm(t[0], {8}, t[1], t[2], 1e-5);
         return {out, mean, rstd};
       }},
      {"layer_norm of a permuted input",
       {Last({2, 8, 4, 4}), F({8}), F({8})},
       [](const Tensors& t) -> Tensors {
         return {at::layer_norm(t[0].permute({0, 2, 3, 1}), {8}, t[1], t[2])};
       }},
      {"rms_norm",
       {F({4, 6, 8}), F({8})},
       [](const Tensors& t) -> Tensors {
         return {at::rms_norm(t[0], {8}, t[1], 1e-5)};
       }},
      {"group_norm",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         return {at::group_norm(t[0], 3, t[1], t[2])};
       }},
      {"native_group_norm statistics",
       {F({4, 6, 5, 3}), F({6}), F({6})},
       [](const Tensors& t) -> Tensors {
         const auto [out, mean, rstd] =
             at::native_group_norm(t[0], t[1], t[2], 4, 6, 15, 3, 1e-5);
         return {out, mean, rstd};
       }},
      {"_weight_norm",
       {F({6, 4, 3}), F({6, 1, 1})},
       [](const Tensors& t) -> Tensors {
         return {at::_weight_norm(t[0], t[1], 0)};
       }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

#define FORETELL_UNARY(op)                                         \
  {                                                                \
    #op, {F({3, 4, 5})},                                           \
        [](const Tensors& t) -> Tensors { return {at::op(t[0])}; } \
  }
#define FORETELL_UNARY_LAST(op)                                    \
  {                                                                \
    #op " channels-last", {Last({2, 3, 4, 5})},                    \
        [](const Tensors& t) -> Tensors { return {at::op(t[0])}; } \
  }
// The in-place variant runs on a copy: leaves may not be overwritten.
#define FORETELL_IN_PLACE(op)                                    \
  {                                                              \
    #op, {Last({2, 3, 4, 5})}, [](const Tensors& t) -> Tensors { \
      at::Tensor copy = t[0] * 2;                                \
      at::op(copy);                                              \
      return {copy};                                             \
    }                                                            \
  }

TEST(MetaActivation, TakesTheGradientOfMishInOneOperator) {
  RegisterMetaKernels();
  const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::mish_backward", "");
  EXPECT_TRUE(op.hasKernelForDispatchKey(c10::DispatchKey::Meta));
}

TEST(MetaActivation, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      FORETELL_UNARY(relu),
      FORETELL_UNARY(relu6),
      FORETELL_UNARY(hardtanh),
      FORETELL_UNARY(hardswish),
      FORETELL_UNARY(hardsigmoid),
      FORETELL_UNARY(log_sigmoid),
      FORETELL_UNARY(gelu),
      FORETELL_UNARY(silu),
      FORETELL_UNARY(mish),
      FORETELL_UNARY(sigmoid),
      FORETELL_UNARY(tanh),
      FORETELL_UNARY(elu),
      FORETELL_UNARY(selu),
      FORETELL_UNARY(celu),
      FORETELL_UNARY(leaky_relu),
      FORETELL_UNARY(softplus),
      FORETELL_UNARY(hardshrink),
      FORETELL_UNARY(softshrink),
      FORETELL_UNARY_LAST(relu),
      FORETELL_UNARY_LAST(hardswish),
      FORETELL_UNARY_LAST(hardtanh),
      FORETELL_UNARY_LAST(relu6),
      FORETELL_IN_PLACE(relu_),
      FORETELL_IN_PLACE(relu6_),
      FORETELL_IN_PLACE(hardtanh_),
      FORETELL_IN_PLACE(hardswish_),
      FORETELL_IN_PLACE(hardsigmoid_),
      FORETELL_IN_PLACE(silu_),
      FORETELL_IN_PLACE(leaky_relu_),
      FORETELL_IN_PLACE(elu_),
      FORETELL_IN_PLACE(sigmoid_),
      FORETELL_IN_PLACE(tanh_),
      {"glu",
       {F({3, 4, 6})},
       [](const Tensors& t) -> Tensors { return {at::glu(t[0], 1)}; }},
      {"prelu with one weight",
       {F({3, 4, 6}), F({1})},
       [](const Tensors& t) -> Tensors { return {at::prelu(t[0], t[1])}; }},
      {"prelu with a weight per channel",
       {F({3, 4, 6}), F({4})},
       [](const Tensors& t) -> Tensors { return {at::prelu(t[0], t[1])}; }},
      {"rrelu",
       {F({3, 4, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::rrelu(t[0], 0.1, 0.3, true)};
       }},
      {"threshold",
       {F({3, 4, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::threshold(t[0], 0.5, 0)};
       }},
      {"softmax",
       {F({3, 4, 6})},
       [](const Tensors& t) -> Tensors { return {at::softmax(t[0], 1)}; }},
      {"log_softmax",
       {F({3, 4, 6})},
       [](const Tensors& t) -> Tensors { return {at::log_softmax(t[0], 1)}; }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaPooling, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"max_pool1d",
       {F({2, 3, 9})},
       [](const Tensors& t) -> Tensors { return {at::max_pool1d(t[0], 2)}; }},
      {"max_pool2d",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::max_pool2d(t[0], 3, 2, 1)};
       }},
      {"max_pool2d ceil",
       {Last({2, 3, 10, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::max_pool2d(t[0], 3, 2, 0, 1, true)};
       }},
      {"max_pool2d_with_indices",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         const auto [out, at] = at::max_pool2d_with_indices(t[0], 3, 2, 1);
         return {out, at};
       }},
      {"max_pool3d_with_indices",
       {F({2, 3, 7, 9, 8})},
       [](const Tensors& t) -> Tensors {
         const auto [out, at] =
             at::max_pool3d_with_indices(t[0], {2, 3, 3}, {}, 1);
         return {out, at};
       }},
      {"max_pool3d ceil, dilated",
       {F({2, 3, 9, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::max_pool3d(t[0], 2, 2, 0, 2, true)};
       }},
      {"avg_pool1d",
       {F({2, 3, 9})},
       [](const Tensors& t) -> Tensors { return {at::avg_pool1d(t[0], 2)}; }},
      {"avg_pool2d",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::avg_pool2d(t[0], 3, 2, 1, true)};
       }},
      {"avg_pool3d",
       {F({2, 3, 7, 9, 8})},
       [](const Tensors& t) -> Tensors { return {at::avg_pool3d(t[0], 2)}; }},
      {"adaptive_avg_pool1d",
       {F({2, 3, 9})},
       [](const Tensors& t) -> Tensors {
         return {at::adaptive_avg_pool1d(t[0], 4)};
       }},
      {"adaptive_avg_pool2d",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::adaptive_avg_pool2d(t[0], {4, 3})};
       }},
      {"adaptive_avg_pool2d channels-last",
       {Last({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::adaptive_avg_pool2d(t[0], {4, 3})};
       }},
      {"adaptive_avg_pool2d to one",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::adaptive_avg_pool2d(t[0], {1, 1})};
       }},
      {"adaptive_avg_pool3d",
       {F({2, 3, 7, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::adaptive_avg_pool3d(t[0], {2, 4, 3})};
       }},
      {"adaptive_max_pool2d",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {std::get<0>(at::adaptive_max_pool2d(t[0], {4, 3}))};
       }},
      {"adaptive_max_pool3d",
       {F({2, 3, 7, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {std::get<0>(at::adaptive_max_pool3d(t[0], {2, 4, 3}))};
       }},
      {"max_unpool2d",
       {F({2, 3, 4, 4}), Int({2, 3, 4, 4}, 64)},
       [](const Tensors& t) -> Tensors {
         return {at::max_unpool2d(t[0], t[1], {8, 8})};
       }},
      {"im2col",
       {F({2, 3, 9, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::im2col(t[0], {3, 2}, {1, 1}, {1, 0}, {2, 2})};
       }},
      {"col2im",
       {F({2, 12, 16})},
       [](const Tensors& t) -> Tensors {
         return {at::col2im(t[0], {8, 8}, {2, 2}, {1, 1}, {0, 0}, {2, 2})};
       }},
      {"lp-like power pool",
       {F({2, 3, 8, 8})},
       [](const Tensors& t) -> Tensors {
         return {at::avg_pool2d(t[0].pow(2), 2).sqrt()};
       }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaPadding, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"constant",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::constant_pad_nd(t[0], {1, 2, 0, 1}, 0)};
       }},
      {"reflection_pad1d",
       {F({2, 3, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::reflection_pad1d(t[0], {1, 2})};
       }},
      {"reflection_pad2d",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::reflection_pad2d(t[0], {1, 2, 0, 1})};
       }},
      {"reflection_pad3d",
       {F({2, 3, 4, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::reflection_pad3d(t[0], {1, 2, 0, 1, 1, 1})};
       }},
      {"replication_pad1d",
       {F({2, 3, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::replication_pad1d(t[0], {1, 2})};
       }},
      {"replication_pad2d",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::replication_pad2d(t[0], {1, 2, 0, 1})};
       }},
      {"replication_pad3d",
       {F({2, 3, 4, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::replication_pad3d(t[0], {1, 2, 0, 1, 1, 1})};
       }},
      {"circular",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::pad(t[0], {1, 2, 0, 1}, "circular")};
       }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaAttention, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"scaled_dot_product_attention",
       {F({2, 4, 10, 16}), F({2, 4, 12, 16}), F({2, 4, 12, 16})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2])};
       },
       Agree::kShape},
      {"with a mask",
       {F({2, 4, 10, 16}), F({2, 4, 12, 16}), F({2, 4, 12, 16}),
        Bool({10, 12})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2], t[3])};
       },
       Agree::kShape},
      {"with a learned bias",
       {F({2, 4, 10, 16}), F({2, 4, 12, 16}), F({2, 4, 12, 16}),
        F({1, 4, 10, 12})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2], t[3])};
       },
       Agree::kShape},
      {"causal, bfloat16",
       {Half({2, 4, 10, 16}), Half({2, 4, 10, 16}), Half({2, 4, 10, 16})},
       [](const Tensors& t) -> Tensors {
         return {
             at::scaled_dot_product_attention(t[0], t[1], t[2], {}, 0.0, true)};
       },
       Agree::kShape},
      {"head size that flash attention pads",
       {Half({2, 4, 10, 13}), Half({2, 4, 10, 13}), Half({2, 4, 10, 13})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2])};
       },
       Agree::kShape},
      {"head size for which only the mathematics is left",
       {F({2, 4, 10, 13}), F({2, 4, 10, 13}), F({2, 4, 10, 13})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2])};
       },
       Agree::kShape},
      {"three axes",
       {F({4, 10, 16}), F({4, 10, 16}), F({4, 10, 16})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2])};
       },
       Agree::kShape},
      {"grouped queries",
       {F({2, 4, 10, 16}), F({2, 2, 10, 16}), F({2, 2, 10, 16})},
       [](const Tensors& t) -> Tensors {
         return {at::scaled_dot_product_attention(t[0], t[1], t[2], {}, 0.0,
                                                  false, std::nullopt, true)};
       },
       Agree::kShape},
      {"_native_multi_head_attention",
       {F({2, 5, 8}), F({24, 8}), F({24}), F({8, 8}), F({8})},
       [](const Tensors& t) -> Tensors {
         const at::AutoGradMode no_grad(false);
         const auto [out, weights] = at::_native_multi_head_attention(
             t[0], t[0], t[0], 8, 2, t[1], t[2], t[3], t[4]);
         return {out, weights};
       },
       Agree::kLayout,
       false},
      {"_transform_bias_rescale_qkv",
       {F({2, 5, 24}), F({24})},
       [](const Tensors& t) -> Tensors {
         const at::AutoGradMode no_grad(false);
         const auto [q, k, v] = at::_transform_bias_rescale_qkv(t[0], t[1], 2);
         return {q, k, v};
       },
       Agree::kLayout,
       false},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaEmbedding, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"embedding",
       {F({10, 6}), Int({2, 5}, 10)},
       [](const Tensors& t) -> Tensors { return {at::embedding(t[0], t[1])}; }},
      {"embedding of one index",
       {F({10, 6}), Int({}, 10)},
       [](const Tensors& t) -> Tensors { return {at::embedding(t[0], t[1])}; }},
      {"embedding_bag sum",
       {F({10, 6}), Int({8}, 10)},
       [](const Tensors& t) -> Tensors {
         const at::Tensor offsets = at::arange(0, 8, 2, t[1].options());
         return {std::get<0>(at::embedding_bag(t[0], t[1], offsets))};
       }},
      {"embedding_bag max",
       {F({10, 6}), Int({8}, 10)},
       [](const Tensors& t) -> Tensors {
         const at::Tensor offsets = at::arange(0, 8, 2, t[1].options());
         return {std::get<0>(
             at::embedding_bag(t[0], t[1], offsets, false, 2, false))};
       }},
      {"one_hot",
       {Int({2, 5}, 10)},
       [](const Tensors& t) -> Tensors { return {at::one_hot(t[0], 10)}; }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

TEST(MetaResampling, HasTheShapesOfTheCpu) {
  const OpCase kCases[] = {
      {"grid_sampler 2d",
       {F({2, 3, 5, 6}), F({2, 7, 8, 2})},
       [](const Tensors& t) -> Tensors {
         return {at::grid_sampler(t[0], t[1], 0, 0, false)};
       }},
      {"grid_sampler 3d",
       {F({2, 3, 4, 5, 6}), F({2, 3, 7, 8, 3})},
       [](const Tensors& t) -> Tensors {
         return {at::grid_sampler(t[0], t[1], 0, 0, false)};
       }},
      {"affine_grid_generator",
       {F({2, 2, 3})},
       [](const Tensors& t) -> Tensors {
         return {at::affine_grid_generator(t[0], {2, 3, 5, 6}, false)};
       }},
      {"upsample_nearest2d",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::upsample_nearest2d(t[0], {10, 12})};
       }},
      {"upsample_bilinear2d channels-last",
       {Last({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::upsample_bilinear2d(t[0], {10, 12}, false)};
       }},
      {"upsample_bicubic2d",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::upsample_bicubic2d(t[0], {10, 12}, false)};
       }},
      {"_upsample_bicubic2d_aa",
       {F({2, 3, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::_upsample_bicubic2d_aa(t[0], {10, 12}, false)};
       }},
      {"upsample_linear1d",
       {F({2, 3, 5})},
       [](const Tensors& t) -> Tensors {
         return {at::upsample_linear1d(t[0], {10}, false)};
       }},
      {"upsample_trilinear3d",
       {F({2, 3, 4, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::upsample_trilinear3d(t[0], {8, 10, 12}, false)};
       }},
      {"pixel_shuffle",
       {F({2, 12, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::pixel_shuffle(t[0], 2)};
       }},
      {"pixel_unshuffle",
       {F({2, 3, 6, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::pixel_unshuffle(t[0], 2)};
       }},
      {"channel_shuffle",
       {F({2, 12, 5, 6})},
       [](const Tensors& t) -> Tensors {
         return {at::channel_shuffle(t[0], 3)};
       }},
  };
  ExpectMetaAgreesWithCpu(kCases);
}

}  // namespace
}  // namespace foretell::meta_test
