// Steps whose sequences GPUs share, against those that real PyTorch runs over
// Gloo (scripts/generate/make_parallel_golden.py), and what cannot be shared.

#include "src/program/context_parallel.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/graph/collective.h"
#include "tests/parallel/real_rows.h"
#include "tests/program/fake_program.h"
#include "tests/program/running_module.h"
#include "tests/program/shared_step.h"

namespace foretell::context_test {
namespace {

using parallel_test::RealRow;
using program_test::Norm;
using program_test::Tensors;
using program_test::Weights;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kHeads = 4;

struct Layer {
  Layer(Weights& weights, const std::string& name, std::int64_t in,
        std::int64_t out)
      : weight(weights.Parameter(name + ".weight", {out, in})),
        bias(weights.Parameter(name + ".bias", {out})) {}
  at::Tensor operator()(const at::Tensor& x) const {
    return at::linear(x, weight, bias);
  }
  at::Tensor weight;
  at::Tensor bias;
};

/// Block of the script.
struct Block {
  Block(Weights& weights, const std::string& name)
      : path("blocks." + name),
        norm1(weights, name + ".norm1", kWidth),
        norm2(weights, name + ".norm2", kWidth),
        qkv(weights, name + ".qkv", kWidth, 3 * kWidth),
        out(weights, name + ".out", kWidth, kWidth),
        up(weights, name + ".up", kWidth, 4 * kWidth),
        down(weights, name + ".down", 4 * kWidth, kWidth) {}

  at::Tensor operator()(at::Tensor x) const {
    const program_test::RunningModule module(path);
    const std::vector<at::Tensor> qkvs =
        qkv(norm1(x))
            .view({x.size(0), x.size(1), 3, kHeads, -1})
            .permute({2, 0, 3, 1, 4})
            .unbind(0);
    const at::Tensor y = at::scaled_dot_product_attention(
        qkvs[0], qkvs[1], qkvs[2], {}, 0.0, /*is_causal=*/true);
    x = x + out(y.transpose(1, 2).reshape(x.sizes()));
    return x + down(at::gelu(up(norm2(x))));
  }

  std::string path;
  Norm norm1, norm2;
  Layer qkv, out, up, down;
};

/// Ring of the script.
program_test::Network Decoder() {
  return [](Weights& weights) {
    const at::Tensor table =
        weights.Parameter("embedding.weight", {50, kWidth});
    std::vector<Block> blocks;
    // Without numbers, so that FSDP has one unit.
    for (const std::string name : {"first", "second", "third"}) {
      blocks.emplace_back(weights, name);
    }
    const Norm norm(weights, "norm", kWidth);
    const Layer head(weights, "head", kWidth, 10);
    return [=](Tensors x) -> Tensors {
      at::Tensor y = at::embedding(table, x[0]);
      for (const Block& block : blocks) y = block(y);
      return {head(norm(y))};
    };
  };
}

Trace TraceStep(const program_test::Network& network, const std::string& plan,
                TraceDevice device,
                const std::vector<std::int64_t>& tokens = {4, 16}) {
  // FlashAttention on GPUs.
  const Precision precision =
      device == TraceDevice::kMeta ? Precision::kBf16 : Precision::kFp32;
  return program_test::TraceShared(network, plan, device, tokens,
                                   {.run = {.precision = precision}});
}

OperatorGraph StepOnGpus(const std::string& plan,
                         const std::vector<std::int64_t>& tokens = {4, 16}) {
  return TraceStep(Decoder(), plan, TraceDevice::kMeta, tokens).graph;
}

TEST(ContextParallel, TakesTheBytesThatPyTorchAllocates) {
  int compared = 0;
  for (const RealRow& row : parallel_test::RealRows()) {
    if (!row.network.starts_with("ring")) continue;
    SCOPED_TRACE(fmt::format("{} {} x{}", row.network, row.plan, row.batches));
    const Trace trace = program_test::TraceShared(
        Decoder(), row.plan, TraceDevice::kCpu, {4, 16},
        program_test::OptionsOf(row, "blocks.*"));
    EXPECT_EQ(parallel_test::Simulated(trace.graph), row.bytes);
    ++compared;
  }
  EXPECT_EQ(compared, 13);
}

std::int64_t CountOf(const OperatorGraph& graph, std::string_view target) {
  return std::ranges::count(graph.nodes(), target, &Node::target);
}

TEST(ContextParallel, ExchangesKeysAndValuesAndTheirGradients) {
  // Three blocks; per block one gathering forward and one backward, or three
  // rotations each; gradients rotate in each of four rounds.
  const OperatorGraph gathered = StepOnGpus("cp:4");
  EXPECT_EQ(CountOf(gathered, kAllGather), 3 * 2);
  EXPECT_EQ(CountOf(gathered, kRotate), 3 * 4);
  const OperatorGraph rotated = StepOnGpus("cp:4,all-to-all");
  EXPECT_EQ(CountOf(rotated, kAllGather), 0);
  EXPECT_EQ(CountOf(rotated, kRotate), 3 * (3 + 3 + 4));
  const auto bytes = [](const OperatorGraph& graph, std::string_view target) {
    const auto node = std::ranges::find(graph.nodes(), target, &Node::target);
    return CollectiveOf(*node)->bytes;
  };
  // Keys and values of 4 sequences, 4 tokens and 4 heads in BF16,
  // of 4 elements, which FlashAttention has padded to 8.
  EXPECT_EQ(bytes(rotated, kRotate), 2 * 4 * 4 * 4 * 8 * 2);
  EXPECT_EQ(bytes(gathered, kAllGather), 4 * 2 * 4 * 4 * 4 * 8 * 2);
}

TEST(ContextParallel, SharesGradientsAmongAllGpus) {
  const auto gpus = [](const std::string& plan) {
    return GpusOf(GroupsOf(StepOnGpus(plan)));
  };
  EXPECT_EQ(gpus("cp:4"), 4);
  EXPECT_EQ(gpus("cp:2+ddp:4"), 8);
  EXPECT_EQ(gpus("cp:4+fsdp:1"), 4);
  const OperatorGraph sharded = StepOnGpus("cp:2+fsdp:4");
  const std::vector<CollectiveGroup> groups = GroupsOf(sharded);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].plan, "cp:2");
  EXPECT_EQ(groups[1].plan, "fsdp:4");
  EXPECT_EQ(groups[1].gpus, 8);
}

TEST(ContextParallel, CastsWhatAttentionReadsUnderAutocast) {
  // Queries and keys in FP32, as rotary positions leave them, and values of a
  // layer in FP16.
  const auto network = [](Weights& weights) {
    const at::Tensor table = weights.Parameter("table", {50, kWidth});
    const Layer values(weights, "values", kWidth, kWidth);
    return [=](Tensors x) -> Tensors {
      const at::Tensor y = at::embedding(table, x[0]).unsqueeze(1);
      return {at::scaled_dot_product_attention(y, y, values(y), {}, 0.0,
                                               /*is_causal=*/true)};
    };
  };
  const OperatorGraph graph =
      program_test::TraceShared(
          network, "cp:2", TraceDevice::kMeta, {4, 16},
          {.run = {.precision = Precision::kFp16, .autocast = true}})
          .graph;
  for (const Node& node : graph.nodes()) {
    if (node.kind != OpKind::kAttention) continue;
    EXPECT_EQ(graph.value(node.inputs.front()).type.dtype, DType::kF16);
  }
  EXPECT_GT(CountOf(graph, kAllGather), 0);
}

TEST(ContextParallel, KeepsTheLengthOfTheWholeInput) {
  const Trace trace = TraceStep(Decoder(), "cp:2", TraceDevice::kMeta);
  EXPECT_EQ(trace.inputs.front().type.shape,
            (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(trace.graph.value(trace.graph.inputs().front()).type.shape,
            (std::vector<std::int64_t>{4, 8}));
}

void ExpectRefusal(const program_test::Network& network,
                   const std::string& plan, const std::string& message,
                   const std::vector<std::int64_t>& tokens = {4, 16}) {
  try {
    TraceStep(network, plan, TraceDevice::kMeta, tokens);
    FAIL() << plan;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

/// Attention with a mask, or none.
program_test::Network Masked(bool has_attention) {
  return [=](Weights& weights) {
    const at::Tensor table = weights.Parameter("table", {50, kWidth});
    return [=](Tensors x) -> Tensors {
      const at::Tensor y = at::embedding(table, x[0]).unsqueeze(1);
      if (!has_attention) return {y};
      const at::Tensor mask = at::zeros({y.size(2), y.size(2)}, y.options());
      return {at::scaled_dot_product_attention(y, y, y, mask)};
    };
  };
}

TEST(ContextParallel, RefusesWhatPyTorchCannotShare) {
  ExpectRefusal(Decoder(), "cp:3", "16 tokens of input x are no 3 equal parts");
  ExpectRefusal(Decoder(), "cp:4", "3 tokens on a GPU are not two equal parts",
                {4, 12});
  ExpectRefusal(Decoder(), "cp:2", "no input is [batch, tokens]", {16});
  ExpectRefusal(Masked(true), "cp:2", "attention has a mask");
  ExpectRefusal(Masked(false), "cp:2", "calls no scaled_dot_product_attention");
}

TEST(ContextParallel, RunsAllRoundsOnAllQueriesWithoutLoadBalancing) {
  const OperatorGraph graph = StepOnGpus("cp:4,unbalanced", {4, 12});
  std::vector<std::vector<std::int64_t>> queries;
  for (const Node& node : graph.nodes()) {
    if (node.kind != OpKind::kAttention) continue;
    queries.push_back(graph.value(node.inputs.front()).type.shape);
  }
  EXPECT_THAT(queries, Not(IsEmpty()));
  EXPECT_THAT(queries, Each(ElementsAre(4, kHeads, 3, 8)));
}

}  // namespace
}  // namespace foretell::context_test
