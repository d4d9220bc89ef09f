#include <gtest/gtest.h>

#include <set>

#include "foretell/graph.h"

namespace foretell {
namespace {

struct Example {
  std::string_view target;
  OpKind kind;
};

constexpr Example kExamples[] = {
    {"conv1d", OpKind::kConvolution},
    {"conv3d", OpKind::kConvolution},
    {"_convolution", OpKind::kConvolution},
    {"conv_transpose2d", OpKind::kTransposedConvolution},
    {"convolution_backward", OpKind::kConvolutionBackward},
    {"linear", OpKind::kLinear},
    {"addmm", OpKind::kMatmul},
    {"bmm", OpKind::kMatmul},
    {"einsum", OpKind::kEinsum},
    {"_trilinear", OpKind::kMatmul},
    {"scaled_dot_product_attention", OpKind::kAttention},
    {"_scaled_dot_product_efficient_attention", OpKind::kAttention},
    {"_scaled_dot_product_flash_attention_backward",
     OpKind::kAttentionBackward},
    {"lstm", OpKind::kRecurrent},
    {"gru_cell", OpKind::kRecurrent},
    {"_cudnn_rnn_backward", OpKind::kRecurrentBackward},
    {"embedding", OpKind::kEmbedding},
    {"embedding_dense_backward", OpKind::kEmbeddingBackward},
    {"batch_norm", OpKind::kBatchNorm},
    {"_native_batch_norm_legit_no_training", OpKind::kBatchNorm},
    {"native_layer_norm", OpKind::kLayerNorm},
    {"group_norm", OpKind::kGroupNorm},
    {"instance_norm", OpKind::kInstanceNorm},
    {"rms_norm", OpKind::kRmsNorm},
    {"native_batch_norm_backward", OpKind::kNormBackward},
    {"log_softmax", OpKind::kSoftmax},
    {"_softmax_backward_data", OpKind::kSoftmaxBackward},
    {"relu", OpKind::kRelu},
    {"gelu", OpKind::kGelu},
    {"silu", OpKind::kSilu},
    {"sigmoid", OpKind::kSigmoid},
    {"tanh", OpKind::kTanh},
    {"hardswish", OpKind::kHardActivation},
    {"relu6", OpKind::kHardActivation},
    {"prelu", OpKind::kOtherActivation},
    {"threshold_backward", OpKind::kActivationBackward},
    {"max_pool2d", OpKind::kMaxPool},
    {"adaptive_avg_pool2d", OpKind::kAveragePool},
    {"max_pool2d_with_indices_backward", OpKind::kPoolBackward},
    {"add", OpKind::kAdd},
    {"rsub", OpKind::kSubtract},
    {"mul", OpKind::kMultiply},
    {"div", OpKind::kDivide},
    {"sqrt", OpKind::kElementwise},
    {"eq", OpKind::kCompare},
    {"where", OpKind::kSelect},
    {"mean", OpKind::kReduce},
    {"argmax", OpKind::kArgReduce},
    {"topk", OpKind::kSort},
    {"cumsum", OpKind::kCumulative},
    {"permute", OpKind::kView},
    {"split_with_sizes", OpKind::kView},
    {"contiguous", OpKind::kCopy},
    {"clone", OpKind::kCopy},
    {"to", OpKind::kCast},
    {"_to_copy", OpKind::kCast},
    {"cat", OpKind::kConcat},
    {"constant_pad_nd", OpKind::kPad},
    {"upsample_bilinear2d", OpKind::kUpsample},
    {"upsample_nearest2d_backward", OpKind::kUpsampleBackward},
    {"index_select", OpKind::kGather},
    {"index_put", OpKind::kScatter},
    {"zeros_like", OpKind::kFill},
    {"randn", OpKind::kRandom},
    {"native_dropout", OpKind::kDropout},
    {"fft_rfft", OpKind::kFft},
    {"torchvision::nms", OpKind::kDetection},
    {"torchvision::deform_conv2d", OpKind::kConvolution},
    {"nll_loss_forward", OpKind::kLoss},
    {"_fused_adamw", OpKind::kOptimizerUpdate},
    {"bitsandbytes::optimizer_update_32bit", OpKind::kOptimizerUpdate},
    {"_foreach_addcdiv", OpKind::kOptimizerUpdate},
    {"linalg_svd", OpKind::kOther},
};

TEST(OpKind, FollowsFromTheOperator) {
  for (const Example& example : kExamples) {
    EXPECT_EQ(OpKindName(OpKindOf(example.target)), OpKindName(example.kind))
        << example.target;
  }
}

TEST(OpKind, IgnoresNamespaceAndOverload) {
  EXPECT_EQ(OpKindOf("aten::add.Tensor"), OpKind::kAdd);
  EXPECT_EQ(OpKindOf("conv2d.padding"), OpKind::kConvolution);
}

TEST(OpKind, IgnoresTheInPlaceUnderscore) {
  EXPECT_EQ(OpKindOf("relu_"), OpKind::kRelu);
  EXPECT_EQ(OpKindOf("aten::copy_"), OpKind::kCopy);
  EXPECT_EQ(OpKindOf("_foreach_mul_.Scalar"), OpKind::kOptimizerUpdate);
  EXPECT_EQ(OpKindOf("__iand__"), OpKind::kElementwise);
}

TEST(OpKind, IsOtherForUnknownAndEmptyNames) {
  EXPECT_EQ(OpKindOf(""), OpKind::kOther);
  EXPECT_EQ(OpKindOf("aten::"), OpKind::kOther);
  EXPECT_EQ(OpKindOf("_"), OpKind::kOther);
  EXPECT_EQ(OpKindOf("conv"), OpKind::kOther);
  EXPECT_EQ(OpKindOf("mylib::conv2d"), OpKind::kOther);
}

TEST(OpKind, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNumOpKinds; ++i) {
    names.insert(OpKindName(static_cast<OpKind>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kNumOpKinds));
  EXPECT_EQ(OpKindName(OpKind::kConvolution), "convolution");
  EXPECT_EQ(OpKindName(OpKind::kMaxPool), "max_pool");
  EXPECT_EQ(OpKindName(OpKind::kOther), "other");
}

}  // namespace
}  // namespace foretell
