// Steps whose experts GPUs share, against those that real PyTorch runs over
// Gloo (scripts/generate/make_parallel_golden.py).

#include "src/program/expert_parallel.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/graph/collective.h"
#include "tests/parallel/real_rows.h"
#include "tests/program/fake_program.h"
#include "tests/program/running_module.h"
#include "tests/program/shared_step.h"

namespace foretell::expert_test {
namespace {

using parallel_test::RealRow;
using program_test::Norm;
using program_test::Tensors;
using program_test::Weights;
using testing::HasSubstr;

constexpr std::int64_t kFeatures = 16;
constexpr std::int64_t kExperts = 4;
constexpr std::int64_t kChoices = 2;

/// Expert of the script.
struct TestExpert {
  TestExpert(Weights& weights, const std::string& name)
      : up(weights.Parameter(name + ".up.weight", {2 * kFeatures, kFeatures})),
        down(weights.Parameter(name + ".down.weight",
                               {kFeatures, 2 * kFeatures})) {}
  at::Tensor operator()(const at::Tensor& x) const {
    return at::linear(at::gelu(at::linear(x, up)), down);
  }
  at::Tensor up;
  at::Tensor down;
};

/// RoutedBlock of the script.
struct RoutedBlock {
  RoutedBlock(Weights& weights, const std::string& name)
      : path(name),
        norm(weights, name + ".norm", kFeatures),
        router(
            weights.Parameter(name + ".router.weight", {kExperts, kFeatures})) {
    const std::int64_t here = ExpertParallelScope::ExpertsHere(kExperts);
    for (std::int64_t i = 0; i < here; ++i) {
      experts.emplace_back(weights,
                           name + ".experts." + std::string(1, '0' + i));
    }
  }

  at::Tensor RunExperts(const at::Tensor& rows) const {
    const program_test::RunningModule module(path + ".experts");
    std::vector<at::Tensor> parts =
        rows.split(rows.size(0) / static_cast<std::int64_t>(experts.size()));
    for (std::size_t i = 0; i < experts.size(); ++i) {
      parts[i] = experts[i](parts[i]);
    }
    return at::cat(parts);
  }

  at::Tensor operator()(const at::Tensor& x) const {
    const program_test::RunningModule module(path);
    const bool shares = ExpertParallelScope::Shares();
    const at::Tensor tokens = norm(x).flatten(0, 1);
    const auto [top, chosen] =
        at::topk(at::softmax(at::linear(tokens, router), -1), kChoices);
    const at::Tensor order = at::argsort(chosen.flatten());
    const at::Tensor token = at::div(order, kChoices, "floor");
    at::Tensor rows = tokens.index({token});
    if (shares) rows = ExpertParallelScope::Dispatch(rows, kExperts);
    at::Tensor y = RunExperts(rows);
    if (shares) y = ExpertParallelScope::Combine(y, order.size(0));
    y = y * top.flatten().index({order}).unsqueeze(-1);
    return x + at::zeros_like(tokens).index_add(0, token, y).view(x.sizes());
  }

  std::string path;
  Norm norm;
  at::Tensor router;
  std::vector<TestExpert> experts;
};

/// Routed of the script.
program_test::Network RoutedDecoder() {
  return [](Weights& weights) {
    const at::Tensor table =
        weights.Parameter("embedding.weight", {50, kFeatures});
    std::vector<RoutedBlock> blocks;
    for (const std::string number : {"0", "1", "2"}) {
      blocks.emplace_back(weights, "blocks." + number);
    }
    const Norm norm(weights, "norm", kFeatures);
    const at::Tensor head = weights.Parameter("head.weight", {10, kFeatures});
    const at::Tensor bias = weights.Parameter("head.bias", {10});
    return [=](Tensors x) -> Tensors {
      at::Tensor y = at::embedding(table, x[0]);
      for (const RoutedBlock& block : blocks) y = block(y);
      return {at::linear(norm(y), head, bias)};
    };
  };
}

OperatorGraph TraceRouted(const program_test::Network& network,
                          const std::string& plan, TraceDevice device) {
  return program_test::TraceShared(network, plan, device, {4, 12}).graph;
}

TEST(ExpertParallel, TakesTheBytesThatPyTorchAllocates) {
  int compared = 0;
  for (const RealRow& row : parallel_test::RealRows()) {
    if (!row.network.starts_with("routed")) continue;
    SCOPED_TRACE(fmt::format("{} {} x{}", row.network, row.plan, row.batches));
    const Trace trace = program_test::TraceShared(
        RoutedDecoder(), row.plan, TraceDevice::kCpu, {4, 12},
        program_test::OptionsOf(row, "blocks.*"));
    EXPECT_EQ(parallel_test::Simulated(trace.graph), row.bytes);
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

std::vector<std::int64_t> BytesExchanged(const std::string& plan) {
  const OperatorGraph graph =
      TraceRouted(RoutedDecoder(), plan, TraceDevice::kMeta);
  std::vector<std::int64_t> bytes;
  for (const Node& node : graph.nodes()) {
    if (node.target == kAllToAll) bytes.push_back(CollectiveOf(node)->bytes);
  }
  return bytes;
}

TEST(ExpertParallel, SendsEachRowThereAndBack) {
  // Numbers of rows, then 4 x 12 tokens twice, 16 features in FP32; three
  // blocks, and rows again in the backward pass.
  constexpr std::int64_t kRows = 4 * 12 * 2 * 16 * 4;
  const std::vector<std::int64_t> bytes = BytesExchanged("ep:4");
  ASSERT_EQ(bytes.size(), 3u * (1 + 2 + 2));
  EXPECT_EQ(bytes[0], 4 * 8);
  EXPECT_EQ(bytes[1], kRows);
  EXPECT_EQ(std::ranges::count(bytes, kRows), 3 * 4);
  // Half as many more rows come in than went out.
  EXPECT_EQ(BytesExchanged("ep:4,imbalance=150")[1], kRows * 3 / 2);
}

TEST(ExpertParallel, ShardsExpertsAmongGpusThatHaveThem) {
  const OperatorGraph graph =
      TraceRouted(RoutedDecoder(), "ep:2+hsdp:2x2", TraceDevice::kMeta);
  EXPECT_EQ(GpusOf(GroupsOf(graph)), 8);
  std::set<std::int64_t> of_experts;
  std::set<std::int64_t> of_others;
  for (const Node& node : graph.nodes()) {
    if (node.target != kAllGather) continue;
    (node.scope.ends_with(".experts") ? of_experts : of_others)
        .insert(CollectiveOf(node)->gpus);
  }
  EXPECT_THAT(of_experts, testing::ElementsAre(2));
  EXPECT_THAT(of_others, testing::ElementsAre(4));
}

TEST(ExpertParallel, RefusesWhatCannotBeShared) {
  const auto message = [](const program_test::Network& network,
                          const std::string& plan) -> std::string {
    try {
      TraceRouted(network, plan, TraceDevice::kMeta);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(RoutedDecoder(), "ep:3"),
              HasSubstr("4 experts are no 3 equal groups"));
  const auto table = [](Weights& weights) {
    const at::Tensor weight = weights.Parameter("table", {50, kFeatures});
    return [weight](Tensors x) -> Tensors {
      return {at::embedding(weight, x[0])};
    };
  };
  EXPECT_THAT(message(table, "ep:2"), HasSubstr("experts are shared of"));
}

}  // namespace
}  // namespace foretell::expert_test
