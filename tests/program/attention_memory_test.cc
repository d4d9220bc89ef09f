// What attention allocates by the version of PyTorch, in bytes counted by hand.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "foretell/trace.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Layer;
using program_test::Layers;
using program_test::Simple;
using program_test::Stateless;

constexpr TorchVersion kUnfused{.major = 1, .minor = 13};
constexpr TorchVersion kFused{.major = 2, .minor = 1};
constexpr TorchVersion kToday{};

/// Most bytes of activations that are alive at once.
std::int64_t PeakOfActivations(const OperatorGraph& graph) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const MemoryEvent& event : graph.events()) {
    const Storage& storage = graph.storage(event.storage);
    if (storage.role != TensorRole::kActivation) continue;
    live += event.kind == MemoryEvent::Kind::kAllocate ? storage.bytes
                                                       : -storage.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

OperatorGraph GraphOf(const program_test::Network& network,
                      const BoundInput& input, const TraceOptions& options) {
  return TraceProgram(FakeProgram("net", {input}, network), {input}, options)
      .graph;
}

program_test::Network SelfAttention() {
  return Stateless([](const at::Tensor& x) {
    return at::scaled_dot_product_attention(x, x, x);
  });
}

/// 4096 bytes; its scores are [2,4,8,8], 2048 bytes.
const BoundInput kHeads{"x", {DType::kF32, {2, 4, 8, 16}}};

TEST(AttentionMemory, HoldsTheResultAloneWhereItIsFused) {
  const OperatorGraph graph =
      GraphOf(SelfAttention(), kHeads, {.run = {.torch = kFused}});
  EXPECT_EQ(PeakOfActivations(graph), 4096);
}

TEST(AttentionMemory, HoldsScoresAndProbabilitiesBeforeTorch2) {
  const OperatorGraph graph =
      GraphOf(SelfAttention(), kHeads, {.run = {.torch = kUnfused}});
  // Scores and scaled ones, those and probabilities; then the result, when
  // all scores are gone.
  EXPECT_EQ(PeakOfActivations(graph),
            std::max({2048 + 2048, 2048 + 2048, 2048 + 4096}));
  EXPECT_EQ(LiveBytesAfter(graph, 0), 4096 + 4096);
}

/// Attention under what `mask` makes for queries and keys, [8, 8].
program_test::Network MaskedAttention(at::Tensor (*mask)(const at::Tensor&)) {
  return Stateless([mask](const at::Tensor& x) {
    return at::scaled_dot_product_attention(x, x, x, mask(x));
  });
}

TEST(AttentionMemory, HoldsScoresUnderAMaskWhoseKeysAreApart) {
  const OperatorGraph turned =
      GraphOf(MaskedAttention([](const at::Tensor& x) {
                return at::zeros({8, 8}, x.options()).t();
              }),
              kHeads, {.run = {.torch = kToday}});
  const OperatorGraph plain = GraphOf(MaskedAttention([](const at::Tensor& x) {
                                        return at::zeros({8, 8}, x.options());
                                      }),
                                      kHeads, {.run = {.torch = kToday}});
  // Scores of 2048 bytes and their probabilities beside the scaled operands.
  EXPECT_GE(PeakOfActivations(turned), PeakOfActivations(plain) + 2 * 2048);
}

TEST(AttentionMemory, LeavesAMaskOutThatRepeatsOneElementForAllKeys) {
  const OperatorGraph graph =
      GraphOf(MaskedAttention([](const at::Tensor& x) {
                return at::zeros({8, 1}, x.options()).expand({8, 8});
              }),
              kHeads, {.run = {.torch = kToday}});
  const Node& attention = graph.nodes().back();
  for (const Node& call : attention.calls) {
    EXPECT_EQ(std::ranges::count(call.inputs, attention.inputs.back()), 0);
  }
  EXPECT_EQ(attention.kind, OpKind::kAttention);
}

/// Attention whose operands are one parameter of the shape of `kHeads`.
program_test::Network AttentionOfParameter(double dropout) {
  return Simple([dropout](Layers& l) -> Layer {
    const at::Tensor w = l.weights().Parameter("w", {2, 4, 8, 16});
    return [w, dropout](const at::Tensor&) {
      return at::scaled_dot_product_attention(w, w, w, {}, dropout);
    };
  });
}

TEST(AttentionMemory, KeepsProbabilitiesForGradientsBeforeTorch2) {
  const TraceOptions options{.run = {.torch = kUnfused, .grad_mode = true}};
  constexpr std::int64_t kSources = 4096 + 4096;
  constexpr std::int64_t kProbabilities = 2048;
  constexpr std::int64_t kResult = 4096;
  EXPECT_EQ(
      LiveBytesAfter(GraphOf(AttentionOfParameter(0), kHeads, options), 0),
      kSources + kProbabilities + kResult);
  // Dropout keeps its mask of one byte per element, the product what dropout
  // left of the probabilities.
  EXPECT_EQ(
      LiveBytesAfter(GraphOf(AttentionOfParameter(0.5), kHeads, options), 0),
      kSources + 2 * kProbabilities + 512 + kResult);
}

TEST(AttentionMemory, GivesItsGradientByProductsBeforeTorch2) {
  const auto backward = [](const TorchVersion& torch) {
    return TargetsOf(
        GraphOf(AttentionOfParameter(0), kHeads,
                {.run = {.mode = Mode::kTraining, .torch = torch}}),
        Phase::kBackward);
  };
  const auto count = [](const std::vector<std::string>& targets,
                        const std::string& target) {
    return std::ranges::count(targets, target);
  };
  EXPECT_EQ(count(backward(kUnfused), "bmm"), 4);
  EXPECT_EQ(count(backward(kUnfused), "_softmax_backward_data"), 1);
  EXPECT_EQ(count(backward(kFused), "bmm"), 0);
}

TEST(AttentionMemory, StaysIn16BitsUntilTorch2_5) {
  // Three dimensions, which no version fuses: 2048 bytes, scores 1024.
  const BoundInput input{"x", {DType::kBF16, {8, 8, 16}}};
  const std::int64_t before = PeakOfActivations(
      GraphOf(SelfAttention(), input, {.run = {.torch = kFused}}));
  // Scaled queries and keys, scores; the result comes when the keys are gone.
  EXPECT_EQ(before, std::max(2048 + 2048 + 1024, 2048 + 1024 + 2048));
  const std::int64_t today = PeakOfActivations(
      GraphOf(SelfAttention(), input, {.run = {.torch = kToday}}));
  EXPECT_GE(today, 2 * before);
}

/// nn.MultiheadAttention as it calls in inference: width 16, two heads.
program_test::Network MultiHead() {
  return Simple([](Layers& l) -> Layer {
    const at::Tensor w = l.weights().Parameter("w", {48, 16});
    const at::Tensor b = l.weights().Parameter("b", {48});
    const at::Tensor p = l.weights().Parameter("p", {16, 16});
    const at::Tensor q = l.weights().Parameter("q", {16});
    return [=](const at::Tensor& x) {
      return std::get<0>(at::_native_multi_head_attention(
          x, x, x, 16, 2, w, b, p, q, {}, /*need_weights=*/false));
    };
  });
}

TEST(AttentionMemory, CountsWhatAnAttentionLayerHolds) {
  // 2048 bytes; queries, keys and values 6144; scores [1,2,32,32] 8192.
  const BoundInput input{"x", {DType::kF32, {1, 32, 16}}};
  EXPECT_EQ(PeakOfActivations(
                GraphOf(MultiHead(), input, {.run = {.torch = kFused}})),
            6144 + 2048 + 2048);
  EXPECT_EQ(PeakOfActivations(
                GraphOf(MultiHead(), input, {.run = {.torch = kUnfused}})),
            6144 + 8192);
}

}  // namespace
}  // namespace foretell
