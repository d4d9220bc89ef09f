#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/trace.h"
#include "src/kernels/cublas.h"
#include "src/program/meta/torch_scope.h"
#include "tests/kernels/decomposition.h"

// Operators that are made of others against PyTorch itself: the work of the
// kernels of a trace on meta, and of the calls that the operator makes on the
// CPU. Those are the calls of CUDA unless a case has a reference of its own,
// which makes them by hand after the source that it names.

namespace foretell::cost {
namespace {

struct Case {
  std::string name;
  std::function<void()> call;
  std::function<void()> reference = {};
};

/// Where the tensors of a case are made.
thread_local at::Device case_device = at::kCPU;

at::Tensor R(std::vector<std::int64_t> shape) {
  return at::rand(shape, at::TensorOptions(case_device));
}

at::Tensor Zeros(std::vector<std::int64_t> shape, at::ScalarType type) {
  return at::zeros(shape, at::TensorOptions(case_device).dtype(type));
}

/// Attention without a fused kernel, as the CPU runs it.
constexpr Run kUnfused = {.torch = {1, 13}};

using Cases = std::vector<Case> (*)();

/// Case `index` of a family, with its tensors on `device`.
Case CaseOn(at::Device device, Cases cases, std::size_t index) {
  case_device = device;
  Case made = cases().at(index);
  case_device = at::kCPU;
  return made;
}

struct Param {
  Cases cases;
  std::size_t index;
};

OperatorGraph Trace(const Param& param) {
  const TorchScope scope(kUnfused.torch);
  return TraceOf(
      [&] { return CaseOn(at::kMeta, param.cases, param.index).call; });
}

std::vector<Case> AttentionCases() {
  const at::Tensor x = R({2, 5, 16}), y = R({2, 5, 16}), z = R({2, 5, 16});
  const at::Tensor w = R({48, 16}), b = R({48}), p = R({16, 16}), c = R({16});
  const at::Tensor mask = Zeros({2, 2, 5, 5}, at::kBool);
  const auto attend = [=](const at::Tensor& key, const at::Tensor& value,
                          bool needs, bool averages) {
    at::_native_multi_head_attention(x, key, value, 16, 2, w, b, p, c, {},
                                     needs, averages);
  };
  const at::Tensor f = R({32, 16}), fb = R({32}), g = R({16, 32}), n = R({16});
  const auto layer = [=](bool gelu, bool norm_first) {
    at::_transformer_encoder_layer_fwd(x, 16, 2, w, b, p, c, gelu, norm_first,
                                       1e-5, n, n, n, n, f, fb, g, n);
  };
  return {
      {"Attention", [=] { attend(x, x, false, false); }},
      {"AttentionAveragesWeights", [=] { attend(x, x, true, true); }},
      {"AttentionReturnsWeights", [=] { attend(x, x, true, false); }},
      {"AttentionOfAnotherSequence", [=] { attend(y, y, false, false); }},
      {"AttentionOfThreeSequences", [=] { attend(y, z, false, false); }},
      {"AttentionWithMask",
       [=] {
         at::_native_multi_head_attention(x, x, x, 16, 2, w, b, p, c, mask,
                                          false, true, 2);
       }},
      {"EncoderLayer", [=] { layer(false, false); }},
      {"EncoderLayerNormsFirst", [=] { layer(false, true); }},
      {"EncoderLayerWithGelu", [=] { layer(true, false); }},
  };
}

std::vector<Case> ClassificationCases() {
  const at::Tensor x = R({4, 6}), t = Zeros({4}, at::kLong);
  const at::Tensor image = R({2, 6, 5, 4});
  const at::Tensor classes = Zeros({2, 5, 4}, at::kLong);
  const at::Tensor shares = R({4, 6}), w = R({6});
  const auto cross = [](const at::Tensor& input, const at::Tensor& target,
                        std::int64_t reduction, double smoothing,
                        const std::optional<at::Tensor>& weight = {}) {
    at::cross_entropy_loss(input, target, weight, reduction, -100, smoothing);
  };
  return {
      {"CrossEntropy", [=] { cross(x, t, 1, 0); }},
      {"CrossEntropyWithWeight", [=] { cross(x, t, 1, 0, w); }},
      {"CrossEntropyUnreduced", [=] { cross(x, t, 0, 0); }},
      {"CrossEntropyOfImages", [=] { cross(image, classes, 1, 0); }},
      {"CrossEntropySmoothed", [=] { cross(x, t, 1, 0.1); }},
      {"CrossEntropySmoothedSum", [=] { cross(x, t, 2, 0.1); }},
      {"CrossEntropySmoothedUnreduced", [=] { cross(x, t, 0, 0.1); }},
      {"CrossEntropyOfShares", [=] { cross(x, shares, 1, 0); }},
      {"CrossEntropyOfSharesSum", [=] { cross(x, shares, 2, 0); }},
      {"CrossEntropyOfSharesUnreduced", [=] { cross(x, shares, 0, 0); }},
      {"CrossEntropyOfSharesWithWeight", [=] { cross(x, shares, 1, 0.1, w); }},
  };
}

std::vector<Case> LossCases() {
  const at::Tensor x = R({4, 6}), y = R({4, 6}), w = R({6});
  const auto reduced = [=] { at::mean(at::sub(x, y)); };
  return {
      {"L1", [=] { at::l1_loss(x, y); }},
      {"L1Sum", [=] { at::l1_loss(x, y, at::Reduction::Sum); }},
      // Each has an element-wise kernel of its own: Loss.cpp.
      {"Mse", [=] { at::mse_loss(x, y); }, reduced},
      {"SmoothL1", [=] { at::smooth_l1_loss(x, y); }, reduced},
      {"Huber", [=] { at::huber_loss(x, y); }, reduced},
      {"BinaryCrossEntropy", [=] { at::binary_cross_entropy(x, y, w); },
       [=] { at::clone(at::mean(at::sub(x, y).mul_(w))); }},
      {"BinaryCrossEntropyWithLogits",
       [=] { at::binary_cross_entropy_with_logits(x, y); }},
      {"BinaryCrossEntropyWithLogitsAndWeight",
       [=] { at::binary_cross_entropy_with_logits(x, y, w); }},
      {"BinaryCrossEntropyWithLogitsAndWeights",
       [=] { at::binary_cross_entropy_with_logits(x, y, w, w); }},
  };
}

std::vector<Case> FurtherLossCases() {
  const at::Tensor x = R({4, 6}), y = R({4, 6}), z = R({4, 6});
  const at::Tensor sign = R({4});
  return {
      {"KlDivergence", [=] { at::kl_div(x, y); }},
      {"KlDivergenceOfLogarithms",
       [=] { at::kl_div(x, y, at::Reduction::Sum, true); }},
      {"HingeEmbedding", [=] { at::hinge_embedding_loss(x, y); }},
      {"MarginRanking", [=] { at::margin_ranking_loss(x, y, z); }},
      // Reduces into the tensor of the elements, which then has none.
      {"SoftMargin", [=] { at::soft_margin_loss(x, y); },
       [=] { at::clone(at::mean(at::neg(x).mul_(y).exp_().log1p_())); }},
      {"TripletMargin", [=] { at::triplet_margin_loss(x, y, z); }},
      {"TripletMarginSwapped",
       [=] { at::triplet_margin_loss(x, y, z, 1, 2, 1e-6, true); }},
      {"CosineEmbedding", [=] { at::cosine_embedding_loss(x, y, sign); }},
      {"Poisson", [=] { at::poisson_nll_loss(x, y, true, false, 1e-8, 1); }},
      {"PoissonFull", [=] { at::poisson_nll_loss(x, y, true, true, 1e-8, 1); }},
      {"PoissonOfRates",
       [=] { at::poisson_nll_loss(x, y, false, false, 1e-8, 2); }},
  };
}

std::vector<Case> PlainCases() {
  const at::Tensor x = R({4, 6}), y = R({4, 6}), m = R({30, 6}), n = R({40, 6});
  const at::Tensor batch = R({2, 30, 6}), image = R({2, 4, 6, 6});
  const at::Tensor mask = Zeros({4, 6}, at::kBool);
  return {
      {"CosineSimilarity", [=] { at::cosine_similarity(x, y, 1); }},
      {"PairwiseDistance", [=] { at::pairwise_distance(x, y); }},
      {"Distance", [=] { at::dist(x, y); }},
      {"EuclideanDistances", [=] { at::cdist(m, n); }},
      {"EuclideanDistancesOfABatch", [=] { at::cdist(batch, batch); }},
      {"EuclideanDistancesExpandOneOperand", [=] { at::cdist(batch, n); }},
      {"LogSumExp", [=] { at::logsumexp(x, {1}); }},
      {"LogSumExpKeepsItsDimension", [=] { at::logsumexp(x, {0}, true); }},
      {"IsFinite", [=] { at::isfinite(x); }},
      {"IsInfinite", [=] { at::isinf(x); }},
      {"MaskedFill", [=] { at::masked_fill(x, mask, 0); }},
      {"DiagonalEmbedding", [=] { at::diag_embed(x); }},
      {"BlockDiagonal",
       [=] {
         at::block_diag({x, m, y});
       }},
      {"FeatureDropout", [=] { at::feature_dropout(image, 0.5, true); }},
      // A kernel per dimension, where the CPU concatenates two parts:
      // cuda/TensorTransformations.cu.
      {"Roll",
       [=] {
         at::roll(x, {1, 2}, {0, 1});
       },
       [=] { at::clone(at::clone(x)); }},
  };
}

std::vector<Case> ProductCases() {
  const at::Tensor a = R({3, 4}), b = R({4, 5}), c = R({5, 2}), d = R({2, 7});
  const at::Tensor square = R({4, 4}), v = R({3});
  const at::Tensor batch = R({2, 3, 4}), other = R({2, 4, 5});
  const at::Tensor weight = R({6, 4, 5}), bias = R({6}), e = R({3, 5});
  const at::Tensor grad = R({3, 6}), w = R({3, 6});
  return {
      {"Bilinear", [=] { at::bilinear(a, e, weight, bias); }},
      {"Trilinear",
       [=] {
         at::_trilinear(a, weight, e, {1, 3}, {0}, {1, 2}, {2, 3});
       }},
      {"TrilinearOfTheLeftGradient",
       [=] {
         at::_trilinear(grad, weight, e, {2, 3}, {0}, {1, 2}, {1, 3});
       }},
      {"TrilinearOfTheWeightGradient",
       [=] {
         at::_trilinear(a, grad, e, {1, 3}, {2, 3}, {1, 2}, {0});
       }},
      {"TrilinearOfTheRightGradient",
       [=] {
         at::_trilinear(a, weight, grad, {1, 3}, {0}, {2, 3}, {1, 2});
       }},
      {"Tensordot",
       [=] {
         at::tensordot(batch, other, {0, 2}, {0, 1});
       }},
      {"TensordotTurnsBoth", [=] { at::tensordot(batch, other, {2}, {1}); }},
      {"ChainMatmul",
       [=] {
         at::chain_matmul({a, b, c});
       }},
      {"MultiDot",
       [=] {
         at::linalg_multi_dot({a, b, c, d});
       }},
      {"MultiDotOfAVector",
       [=] {
         at::linalg_multi_dot({v, a, b});
       }},
      {"MatrixPower", [=] { at::matrix_power(square, 3); }},
      {"MatrixPowerOfFive", [=] { at::matrix_power(square, 5); }},
      {"MatrixPowerOfTwelve", [=] { at::matrix_power(square, 12); }},
      {"SumOfProducts", [=] { at::addbmm(e, batch, other); }},
      // A kernel that broadcasts: cuda/LinearAlgebra.cu.
      {"AddedOuterProduct", [=] { at::addr(w, v, bias); },
       [=] { at::addcmul(w, v.unsqueeze(1), bias); }},
      {"VectorDot", [=] { at::linalg_vecdot(a, a); }},
      {"Outer", [=] { at::outer(v, bias); }},
      {"Ger", [=] { at::ger(v, bias); }},
      {"Kron", [=] { at::kron(a, b); }},
      {"KronOfAVector", [=] { at::kron(a, v); }},
  };
}

/// Whether any of the calls is a product that cuBLAS computes.
bool Multiplies(const OperatorGraph& parts) {
  return std::ranges::count(CublasNodes(parts, kUnfused), true) > 0;
}

class Decomposed : public testing::TestWithParam<Param> {};

TEST_P(Decomposed, DoesTheWorkOfItsCalls) {
  InitializeTracing();
  const Case test = CaseOn(at::kCPU, GetParam().cases, GetParam().index);
  const OperatorGraph parts =
      Decompose(test.reference ? test.reference : test.call).parts;
  const OperatorGraph traced = Trace(GetParam());
  ASSERT_EQ(traced.nodes().size(), 1U);
  EXPECT_EQ(WorkOf(traced, kUnfused), WorkOf(parts, kUnfused))
      << PrintGraph(traced) << PrintGraph(parts);
  EXPECT_EQ(CublasNodes(traced, kUnfused).front(), Multiplies(parts));
}

std::vector<Param> Params(Cases cases) {
  std::vector<Param> params;
  for (std::size_t i = 0; i < cases().size(); ++i) params.push_back({cases, i});
  return params;
}

std::string NameOf(const testing::TestParamInfo<Param>& info) {
  return info.param.cases()[info.param.index].name;
}

INSTANTIATE_TEST_SUITE_P(Attention, Decomposed,
                         testing::ValuesIn(Params(&AttentionCases)), &NameOf);
INSTANTIATE_TEST_SUITE_P(Classification, Decomposed,
                         testing::ValuesIn(Params(&ClassificationCases)),
                         &NameOf);
INSTANTIATE_TEST_SUITE_P(Loss, Decomposed,
                         testing::ValuesIn(Params(&LossCases)), &NameOf);
INSTANTIATE_TEST_SUITE_P(FurtherLoss, Decomposed,
                         testing::ValuesIn(Params(&FurtherLossCases)), &NameOf);
INSTANTIATE_TEST_SUITE_P(Plain, Decomposed,
                         testing::ValuesIn(Params(&PlainCases)), &NameOf);
INSTANTIATE_TEST_SUITE_P(Product, Decomposed,
                         testing::ValuesIn(Params(&ProductCases)), &NameOf);

}  // namespace
}  // namespace foretell::cost
