// What registration promises: overrides, refusals, in-place and foreach
// operators, the bytes that are saved.

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "src/program/meta/attention.h"
#include "src/program/meta/meta_kernels.h"
#include "tests/program/meta_memory.h"

namespace foretell::meta_test {
namespace {

using meta::AttentionKernel;
using meta::ChooseAttention;
using ::testing::HasSubstr;

at::Tensor OnMeta(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

at::Tensor Parameter(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return OnMeta(sizes, dtype).requires_grad_();
}

c10::OperatorHandle Operator(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

class MetaKernels : public ::testing::Test {
 protected:
  void SetUp() override { RegisterMetaKernels(); }
};

TEST_F(MetaKernels, MayBeRegisteredFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(RegisterMetaKernels);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(HasMetaKernel(Operator("aten::relu")));
}

TEST_F(MetaKernels, KnowWhatRunsOnMeta) {
  EXPECT_TRUE(HasMetaKernel(Operator("aten::convolution")));
  EXPECT_TRUE(HasMetaKernel(Operator("aten::conv2d")));
  EXPECT_TRUE(HasMetaKernel(Operator("aten::abs", "out")));
  EXPECT_TRUE(HasMetaKernel(Operator("torchvision::roi_align")));
  EXPECT_FALSE(HasMetaKernel(Operator("aten::nonzero")));
  EXPECT_FALSE(HasMetaKernel(Operator("torchvision::nms")));
  EXPECT_FALSE(HasMetaKernel(Operator("aten::quantize_per_tensor")));
}

TEST_F(MetaKernels, NameTheOperatorWhoseShapeDependsOnData) {
  const at::Tensor x = OnMeta({3, 4});
  const auto message = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const c10::NotImplementedError& error) {
      return error.what_without_backtrace();
    }
    return "";
  };
  EXPECT_THAT(message([&] { x.nonzero(); }), HasSubstr("aten::nonzero"));
  EXPECT_THAT(message([&] { x.index({x > 0}); }), HasSubstr("aten::nonzero"));
  EXPECT_THAT(message([&] { x.masked_select(x > 0); }),
              HasSubstr("aten::masked_select"));
  EXPECT_THAT(message([&] { at::_unique2(x); }), HasSubstr("aten::_unique2"));
  EXPECT_THAT(message([&] { x.sum().item(); }),
              HasSubstr("aten::_local_scalar_dense"));
  EXPECT_THAT(message([&] {
                at::equal(x, OnMeta({3, 4}));
              }),
              HasSubstr("aten::equal"));
  EXPECT_THAT(message([&] { at::repeat_interleave(OnMeta({3}, at::kLong)); }),
              HasSubstr("aten::repeat_interleave"));
  EXPECT_THAT(
      message([&] {
        Operator("torchvision::nms")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>()
            .call(OnMeta({5, 4}), OnMeta({5}), 0.5);
      }),
      HasSubstr("torchvision::nms"));
}

TEST_F(MetaKernels, CompareTensorsAsFarAsShapesTell) {
  const at::Tensor x = OnMeta({4, 4});
  EXPECT_TRUE(at::equal(x, x.view({4, 4})));
  EXPECT_FALSE(at::equal(x, x[0]));
  EXPECT_THROW(at::equal(x, x.t()), c10::NotImplementedError);
}

// istft asks first whether the sum of its windows is zero somewhere.
TEST_F(MetaKernels, TakeTheWindowOfAnInverseForSound) {
  const auto complex = at::dtype(at::kComplexFloat).device(at::kMeta);
  const at::Tensor sound =
      at::istft(at::empty({2, 17, 9}, complex), /*n_fft=*/32, /*hop_length=*/8,
                /*win_length=*/32, OnMeta({32}), /*center=*/true,
                /*normalized=*/false, /*onesided=*/true, /*length=*/60);
  EXPECT_EQ(sound.sizes(), (std::vector<std::int64_t>{2, 60}));
}

TEST_F(MetaKernels, RefuseShapesThatDoNotFit) {
  EXPECT_THROW(at::conv2d(OnMeta({1, 4, 8, 8}), OnMeta({6, 3, 3, 3})),
               c10::Error);
  EXPECT_THROW(at::conv2d(OnMeta({1, 4, 2, 2}), OnMeta({6, 4, 3, 3})),
               c10::Error);
  EXPECT_THROW(at::layer_norm(OnMeta({2, 8}), {7}), c10::Error);
  EXPECT_THROW(at::where(OnMeta({3}, at::kBool), OnMeta({4}), OnMeta({4})),
               c10::Error);
  EXPECT_THROW(at::max_pool3d(OnMeta({1, 1, 2, 2, 2}), 3), c10::Error);
}

TEST_F(MetaKernels, RefuseWindowsThatCannotBeCounted) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const at::Tensor x = OnMeta({1, 4, 8, 8});
  const at::Tensor weight = OnMeta({4, 4, 3, 3});
  using Ints = std::vector<std::int64_t>;
  const auto message = [&](const Ints& padding, const Ints& dilation,
                           const Ints& output_padding, std::int64_t groups) {
    const bool is_transposed = !output_padding.empty();
    try {
      at::convolution(x, weight, {}, Ints{1, 1}, padding, dilation,
                      is_transposed,
                      is_transposed ? output_padding : Ints{0, 0}, groups);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  const auto is_named = HasSubstr("padding or dilation is 4611686018427387904");
  EXPECT_THAT(message({kHuge, 1}, {1, 1}, {}, 1), is_named);
  EXPECT_THAT(message({1, 1}, {1, kHuge}, {}, 1), is_named);
  EXPECT_THAT(message({kHuge, 1}, {1, 1}, {0, 0}, 1), is_named);
  EXPECT_THAT(message({1, 1}, {1, 1}, {0, kHuge}, 1), is_named);
  EXPECT_THAT(message({1, 1}, {1, 1}, {}, kHuge),
              HasSubstr("groups is 4611686018427387904"));
  EXPECT_THAT(message({1, 1}, {1, 1}, {}, 1), testing::IsEmpty());
}

TEST_F(MetaKernels, KeepChannelsLastThroughAConvolution) {
  const at::Tensor weight = OnMeta({6, 4, 3, 3});
  const at::Tensor input =
      OnMeta({2, 4, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor out = at::relu(at::conv2d(input, weight));
  EXPECT_TRUE(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::conv2d(OnMeta({2, 4, 8, 8}), weight).is_contiguous());
}

TEST_F(MetaKernels, RunInPlaceOperators) {
  at::Tensor x = OnMeta({3, 4});
  const at::Tensor storage = x.view({12});
  x.add_(1).mul_(x).clamp_(0, 1).relu_().abs_().fill_(2).zero_();
  x.masked_fill_(x > 0, 1).index_put_({OnMeta({2}, at::kLong)}, OnMeta({4}));
  x.scatter_(1, OnMeta({3, 2}, at::kLong), 1).copy_(OnMeta({4}));
  x.uniform_().normal_().bernoulli_(0.5).hypot_(x).addcmul_(x, x);
  EXPECT_TRUE(x.is_alias_of(storage));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 4}));
}

TEST_F(MetaKernels, SelectByAnIndexOnTheCpu) {
  const at::Tensor x = Parameter({3, 4});
  const at::Tensor index = at::zeros({2}, at::kLong);
  const at::Tensor out = at::index_select(x, 1, index);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({3, 2}));
  out.sum().backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

TEST_F(MetaKernels, RunForeachOperators) {
  const std::vector<at::Tensor> p = {OnMeta({3, 4}), OnMeta({5})};
  const std::vector<at::Tensor> g = {OnMeta({3, 4}), OnMeta({5})};
  at::_foreach_add_(p, g, 0.1);
  at::_foreach_mul_(p, 0.9);
  at::_foreach_lerp_(p, g, 0.1);
  at::_foreach_addcmul_(p, g, g, 0.1);
  at::_foreach_addcdiv_(p, g, at::_foreach_sqrt(g), 0.1);
  at::_foreach_div_(p, 2);
  at::_foreach_neg_(p);
  at::_foreach_maximum_(p, g);
  at::_foreach_clamp_min_(p, 0);
  at::_foreach_zero_(p);
  EXPECT_EQ(at::_foreach_sqrt(g)[0].sizes(), at::IntArrayRef({3, 4}));
  const std::vector<at::Tensor> norms = at::_foreach_norm(g);
  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[1].dim(), 0);
}

TEST_F(MetaKernels, RunFusedOptimizers) {
  const std::vector<at::Tensor> p = {OnMeta({3, 4})};
  const std::vector<at::Tensor> steps = {OnMeta({})};
  EXPECT_NO_THROW(at::_fused_adamw_(p, p, p, p, {}, steps, 1e-3, 0.9, 0.99,
                                    0.01, 1e-8, false, false));
  EXPECT_NO_THROW(at::_fused_sgd_(p, p, p, 0, 0.9, 0.1, 0, false, false, true));
}

// --- Attention --------------------------------------------------------------

TEST_F(MetaKernels, ChooseTheAttentionThatCudaTakes) {
  const at::Tensor f = OnMeta({2, 4, 10, 16});
  const at::Tensor h = OnMeta({2, 4, 10, 16}, at::kHalf);
  const at::Tensor wide = OnMeta({2, 4, 10, 264}, at::kHalf);
  const at::Tensor odd = OnMeta({2, 4, 10, 13});
  const at::Tensor fewer = OnMeta({2, 2, 10, 16}, at::kHalf);
  const at::Tensor longer = OnMeta({2, 4, 12, 16}, at::kHalf);
  const at::Tensor mask = OnMeta({10, 10}, at::kBool);
  const at::Tensor f64 = OnMeta({2, 4, 10, 16}, at::kDouble);
  EXPECT_EQ(ChooseAttention({f, f, f}), AttentionKernel::kEfficient);
  EXPECT_EQ(ChooseAttention({h, h, h}), AttentionKernel::kFlash);
  EXPECT_EQ(ChooseAttention({h, h, h, mask}), AttentionKernel::kEfficient);
  EXPECT_EQ(ChooseAttention({wide, wide, wide}), AttentionKernel::kEfficient);
  EXPECT_EQ(ChooseAttention({odd, odd, odd}), AttentionKernel::kMath);
  EXPECT_EQ(ChooseAttention({f64, f64, f64}), AttentionKernel::kMath);
  EXPECT_EQ(ChooseAttention({f[0], f[0], f[0]}), AttentionKernel::kMath);
  EXPECT_EQ(ChooseAttention({h, fewer, fewer}), AttentionKernel::kMath);
  EXPECT_EQ(ChooseAttention(
                {.query = h, .key = fewer, .value = fewer, .enable_gqa = true}),
            AttentionKernel::kFlash);
  EXPECT_EQ(
      ChooseAttention(
          {.query = h, .key = longer, .value = longer, .is_causal = true}),
      AttentionKernel::kEfficient);
}

// --- Saved bytes ------------------------------------------------------------

// Storages that are alive after `run` beside those from before.
template <typename Run>
std::int64_t BytesKept(const Run& run) {
  const std::int64_t before = LiveMetaBytes();
  const auto kept = run();
  return LiveMetaBytes() - before;
}

TEST_F(MetaKernels, SaveOneByteAnElementForDropout) {
  const at::Tensor x = Parameter({1000});
  EXPECT_EQ(BytesKept([&] { return at::dropout(x, 0.1, true); }), 4000 + 1000);
  EXPECT_EQ(BytesKept([&] { return at::dropout(x, 0.1, false); }), 0);
}

TEST_F(MetaKernels, SaveNoSquareMatrixForAttention) {
  const at::Tensor q = Parameter({2, 4, 100, 16});
  // Result [2, 4, 100, 16] and log-sum-exp [2, 4, 128] in float; the seeds are
  // on the host.
  EXPECT_EQ(
      BytesKept([&] { return at::scaled_dot_product_attention(q, q, q); }),
      4 * (2 * 4 * 100 * 16 + 2 * 4 * 128));
  const at::Tensor h = Parameter({2, 4, 100, 16}, at::kBFloat16);
  // Log-sum-exp [2, 4, 100] in float, 16 + 8 bytes of random state.
  EXPECT_EQ(
      BytesKept([&] { return at::scaled_dot_product_attention(h, h, h); }),
      2 * 2 * 4 * 100 * 16 + 4 * 2 * 4 * 100 + 24);
}

TEST_F(MetaKernels, SaveNoLogSumExpWithoutGradients) {
  const at::AutoGradMode no_grad(false);
  const at::Tensor q = OnMeta({2, 4, 100, 16});
  EXPECT_EQ(
      BytesKept([&] { return at::scaled_dot_product_attention(q, q, q); }),
      4 * 2 * 4 * 100 * 16);
}

TEST_F(MetaKernels, SaveTheStatisticsOfNorms) {
  const at::Tensor x = Parameter({8, 6, 10, 10});
  const at::Tensor scale = Parameter({6});
  EXPECT_EQ(BytesKept([&] {
              return at::batch_norm(x, scale, scale, {}, {}, true, 0.1, 1e-5,
                                    true);
            }),
            4 * (8 * 6 * 100 + 2 * 6));
  EXPECT_EQ(BytesKept([&] { return at::group_norm(x, 3, scale, scale); }),
            4 * (8 * 6 * 100 + 2 * 8 * 3));
  const at::Tensor rows = Parameter({8, 5, 6});
  EXPECT_EQ(BytesKept([&] { return at::layer_norm(rows, {6}, scale, scale); }),
            4 * (8 * 5 * 6 + 2 * 8 * 5));
  EXPECT_EQ(BytesKept([&] { return at::rms_norm(rows, {6}, scale); }),
            4 * (8 * 5 * 6 + 8 * 5));
}

TEST_F(MetaKernels, SaveTheStatisticsOf16BitNormsInFloat) {
  const at::Tensor rows = Parameter({8, 5, 6}, at::kHalf);
  const at::Tensor scale = Parameter({6}, at::kHalf);
  EXPECT_EQ(BytesKept([&] { return at::layer_norm(rows, {6}, scale, scale); }),
            2 * 8 * 5 * 6 + 4 * 2 * 8 * 5);
}

TEST_F(MetaKernels, SaveInt64IndicesForMaxPooling) {
  const at::Tensor x = Parameter({2, 3, 8, 8});
  EXPECT_EQ(BytesKept([&] { return at::max_pool2d(x, 2); }),
            2 * 3 * 16 * (4 + 8));
}

TEST_F(MetaKernels, KeepTheLossesThatBinaryCrossEntropyShrinks) {
  const at::Tensor x = Parameter({100});
  const at::Tensor y = OnMeta({100});
  EXPECT_EQ(BytesKept([&] { return at::binary_cross_entropy(x, y); }), 400);
}

// --- Recurrent layers -------------------------------------------------------

TEST_F(MetaKernels, RunLstmAsOneOperator) {
  const at::Tensor x = Parameter({5, 2, 8});  // [time, batch, features]
  const std::vector<at::Tensor> weights = {
      Parameter({24, 8}), Parameter({24, 6}), Parameter({24}), Parameter({24})};
  const at::Tensor state = OnMeta({1, 2, 6});
  const auto run = [&] {
    return at::lstm(x, {state, state}, weights, true, 1, 0, true, false, false);
  };
  // Output [5, 2, 6], two states [1, 2, 6], and the reserve.
  EXPECT_EQ(BytesKept(run), 4 * (60 + 2 * 12) + 4 * 6 * 60);
  const auto [out, hidden, cell] = run();
  EXPECT_EQ(out.sizes(), at::IntArrayRef({5, 2, 6}));
  EXPECT_EQ(cell.sizes(), at::IntArrayRef({1, 2, 6}));
  out.sum().backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  EXPECT_EQ(weights[1].grad().sizes(), weights[1].sizes());
  EXPECT_TRUE(weights[1].grad().is_alias_of(weights[3].grad()));
}

TEST_F(MetaKernels, RunBidirectionalGruBatchFirst) {
  const at::Tensor x = Parameter({2, 5, 8});
  std::vector<at::Tensor> weights;
  for (int direction = 0; direction < 2; ++direction) {
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{18, 8}, {18, 6}, {18}, {18}}) {
      weights.push_back(Parameter(sizes));
    }
  }
  const auto [out, hidden] =
      at::gru(x, OnMeta({2, 2, 6}), weights, true, 1, 0, true, true, true);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 5, 12}));
  EXPECT_EQ(hidden.sizes(), at::IntArrayRef({2, 2, 6}));
  out.sum().backward();
  EXPECT_EQ(weights[7].grad().sizes(), at::IntArrayRef({18}));
}

TEST_F(MetaKernels, RunFusedCells) {
  const at::Tensor x = Parameter({2, 8});
  const at::Tensor h = Parameter({2, 6});
  const at::Tensor wi = Parameter({24, 8});
  const at::Tensor wh = Parameter({24, 6});
  const at::Tensor b = Parameter({24});
  const auto [hidden, cell] = at::lstm_cell(x, {h, h}, wi, wh, b, b);
  (hidden + cell).sum().backward();
  EXPECT_EQ(wh.grad().sizes(), wh.sizes());
  EXPECT_EQ(b.grad().sizes(), b.sizes());
  const at::Tensor gate = Parameter({18});
  const at::Tensor next =
      at::gru_cell(x, h, Parameter({18, 8}), Parameter({18, 6}), gate, gate);
  next.sum().backward();
  EXPECT_EQ(gate.grad().sizes(), gate.sizes());
}

// --- Detection --------------------------------------------------------------

// Calls an operator by its schema; `arguments` in order.
torch::jit::Stack CallBoxed(const char* name, torch::jit::Stack arguments) {
  Operator(name).callBoxed(&arguments);
  return arguments;
}

TEST_F(MetaKernels, ShapeRegionsOfInterest) {
  const at::Tensor image = OnMeta({2, 24, 32, 32});
  const at::Tensor boxes = OnMeta({7, 5});
  const auto aligned =
      CallBoxed("torchvision::roi_align", {image, boxes, 0.5, 3, 4, 2, true});
  EXPECT_EQ(aligned[0].toTensor().sizes(), at::IntArrayRef({7, 24, 3, 4}));
  const auto pooled =
      CallBoxed("torchvision::roi_pool", {image, boxes, 0.5, 3, 4});
  EXPECT_EQ(pooled[1].toTensor().scalar_type(), at::kInt);
  const auto sensitive =
      CallBoxed("torchvision::ps_roi_align", {image, boxes, 0.5, 3, 4, 2});
  EXPECT_EQ(sensitive[0].toTensor().sizes(), at::IntArrayRef({7, 2, 3, 4}));
  EXPECT_THROW(
      CallBoxed("torchvision::ps_roi_align", {image, boxes, 0.5, 5, 5, 2}),
      c10::Error);
}

TEST_F(MetaKernels, ShapeDeformableConvolutions) {
  const auto out = CallBoxed(
      "torchvision::deform_conv2d",
      {OnMeta({2, 4, 9, 8}), OnMeta({6, 4, 3, 3}), OnMeta({2, 18, 5, 4}),
       OnMeta({2, 9, 5, 4}), OnMeta({6}), 2, 2, 1, 1, 1, 1, 1, 1, true});
  EXPECT_EQ(out[0].toTensor().sizes(), at::IntArrayRef({2, 6, 5, 4}));
}

// As on the CPU, where `offs` is of the type that CUDA wants.
TEST_F(MetaKernels, MultiplyGroupsOfRowsAndTheirGradients) {
  const at::Tensor rows = Parameter({10, 64}, at::kBFloat16);
  const at::Tensor matrices = Parameter({4, 64, 32}, at::kBFloat16);
  const at::Tensor ends = OnMeta({4}, at::kInt);
  const at::Tensor result = at::_grouped_mm(rows, matrices, ends);
  EXPECT_EQ(result.sizes(), at::IntArrayRef({10, 32}));
  result.square().mean().backward();
  EXPECT_EQ(rows.grad().sizes(), rows.sizes());
  EXPECT_EQ(matrices.grad().sizes(), matrices.sizes());
  const at::Tensor batch = OnMeta({4, 10, 64}, at::kBFloat16);
  EXPECT_EQ(at::_grouped_mm(batch, matrices).sizes(),
            at::IntArrayRef({4, 10, 32}));
}

TEST_F(MetaKernels, PadRowsOfGroupsTo16Bytes) {
  const at::Tensor rows = OnMeta({10, 64}, at::kBFloat16);
  const at::Tensor matrices =
      OnMeta({4, 36, 64}, at::kBFloat16).transpose(1, 2);
  const at::Tensor result =
      at::_grouped_mm(rows, matrices, OnMeta({4}, at::kInt));
  EXPECT_EQ(result.strides(), at::IntArrayRef({40, 1}));
}

}  // namespace
}  // namespace foretell::meta_test
