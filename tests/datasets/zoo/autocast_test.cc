// Whole networks traced under autocast: the memory that casts of parameters
// take, and published peaks of training.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/memory.h"
#include "foretell/trace.h"
#include "foretell/zoo.h"
#include "src/core/units.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

OperatorGraph TraceOf(const std::string& name, const TraceOptions& options,
                      std::int64_t batch = 4) {
  const Program program = zoo::Load(name);
  const std::vector<BoundInput> inputs =
      BindInputs(program.inputs(), {.batch = batch}, name);
  return TraceProgram(program, inputs, options).graph;
}

/// Bytes of what `node` makes, when it is one of autocast's casts of a
/// parameter.
std::int64_t WeightCastBytes(const OperatorGraph& graph, const Node& node) {
  if (node.Int(kAutocastAttribute, 0) == 0) return 0;
  const Value& source = graph.value(node.inputs.front());
  if (graph.storage(source.storage).role != TensorRole::kParameter) return 0;
  return graph.value(node.outputs.front()).type.Bytes();
}

TEST(AutocastOfBertLarge, KeepsCastsBesideTheParameters) {
  constexpr std::int64_t kWidth = 1024;
  constexpr std::int64_t kInner = 4096;
  constexpr std::int64_t kLinear =
      24 * (4 * (kWidth * kWidth + kWidth) + 2 * kWidth * kInner + kInner +
            kWidth) +
      kWidth * kWidth + kWidth;
  constexpr std::int64_t kEmbeddings = (30522 + 512 + 2) * kWidth;
  constexpr std::int64_t kNorms = (2 * 24 + 1) * 2 * kWidth;
  const OperatorGraph graph =
      TraceOf("bert_large", {.run = {.autocast = true}});
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            4 * (kLinear + kEmbeddings + kNorms));
  std::int64_t casts = 0;
  std::int64_t alive = 0;
  const auto last = static_cast<NodeId>(graph.nodes().size()) - 1;
  for (const Node& node : graph.nodes()) {
    const std::int64_t bytes = WeightCastBytes(graph, node);
    casts += bytes;
    if (bytes > 0 && DeathOf(graph, node.outputs.front()) == last) {
      alive += bytes;
    }
  }
  EXPECT_EQ(casts, 2 * kLinear);
  EXPECT_EQ(alive, casts);
}

/// Largest `torch.cuda.max_memory_allocated` of training with AMP, published by
/// the WTF-Benchmark (tobna/WTF-Benchmark-Dashboard, August 2023): A100, fused
/// LAMB, distributed over four or eight GPUs.
struct PublishedPeak {
  const char* network;
  std::int64_t batch;
  double mib;
};

constexpr PublishedPeak kPublished[] = {
    {"resnet50", 512, 22674.42},
    {"swin_tiny_patch4_window7_224", 512, 35081.85},
    {"swin_small_patch4_window7_224", 256, 28230.14},
    {"mixer_s16_224", 512, 14587.29},
};

// LAMB has the two states of Adam; DistributedDataParallel adds buckets of the
// size of all gradients. Vision transformers are left out: theirs did without
// fused attention.
TEST(AutocastMemory, AgreesWithPublishedPeaksOfTraining) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  for (const auto& [network, batch, mib] : kPublished) {
    const OperatorGraph graph = TraceOf(network,
                                        {.run = {.mode = Mode::kTraining,
                                                 .optimizer = Optimizer::kAdam,
                                                 .autocast = true}},
                                        batch);
    const MemoryBreakdown memory =
        SimulateMemory(graph, {.device = catalog.FindDevice("a100-sxm4-80gb"),
                               .context = catalog.DefaultContext()});
    const double ours =
        ToMiB(memory.allocated_peak + 4 * graph.ParameterElements());
    std::printf("| %s | %lld | %.0f | %.0f |\n", network,
                static_cast<long long>(batch), ours, mib);
    EXPECT_NEAR(ours / mib, 1, 0.02) << network;
  }
}

}  // namespace
}  // namespace foretell
