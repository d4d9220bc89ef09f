// What torch.compile keeps for the backward pass and which kernels it makes,
// against AOTAutograd and Inductor's scheduler.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "foretell/zoo.h"
#include "src/graph/block_runs.h"
#include "src/graph/recompute_spec.h"
#include "src/graph/storage_bytes.h"
#include "src/runtime/compile/compile.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/joint_graph.h"
#include "src/runtime/compile/keep_policies.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/saved_tensors.h"

namespace foretell {
namespace {

constexpr RuntimeSpec kCompiled = {.runtime = Runtime::kCompile};
/// Seeds of attention and masks of a byte, which differ, are less.
constexpr double kTolerance = 1e-3;
constexpr double kTolerableCount = 0.1;
/// Of the steps; tests/golden/compile/README.md names the others.
constexpr double kLeastShareOfBytes = 0.95;
constexpr double kLeastShare = 0.9;

using Row = std::vector<std::string>;

/// The rows of a table of tests/golden/compile below its header.
std::vector<Row> RowsOf(const std::string& table) {
  std::ifstream file(FORETELL_SOURCE_DIR "/tests/golden/compile/" + table);
  std::string line;
  std::getline(file, line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) {
      row.push_back(field);
    }
  }
  return rows;
}

OperatorGraph StepOf(const std::string& network, Mode mode) {
  const Program program = zoo::Load(network);
  return TraceProgram(program,
                      BindInputs(program.inputs(), {.batch = 2}, network),
                      {.run = {.mode = mode}})
      .graph;
}

/// `checkpoint`: the path of the blocks that are computed again; or empty.
std::int64_t SavedBytes(const std::string& network,
                        const std::string& checkpoint, double budget) {
  const OperatorGraph primitives =
      runtime::Decompose(runtime::ExposeSaved(StepOf(network, Mode::kTraining)),
                         kCompiled, runtime::kFusedScatters);
  runtime::JointGraph joint = runtime::MakeJointGraph(primitives);
  if (!checkpoint.empty()) {
    const RecomputeSpec spec = ParseRecompute(checkpoint);
    runtime::SetKeepPolicies(FindBlockRuns(primitives, spec, BlocksOf(spec, 0)),
                             joint);
  }
  std::int64_t bytes = 0;
  for (const std::int32_t place : runtime::SavedTensors(joint, budget)) {
    const runtime::JointNode& node =
        joint.nodes[static_cast<std::size_t>(place)];
    if (!node.is_source) bytes += node.bytes;
  }
  return bytes;
}

/// Of the forward and backward pass.
int KernelsOf(const std::string& network, Mode mode) {
  const OperatorGraph graph = runtime::Compile(StepOf(network, mode), kCompiled,
                                               runtime::kFusedScatters);
  const std::vector<runtime::Loop> loops = runtime::LowerLoops(graph);
  int count = 0;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.phase != Phase::kOptimizer && node.target != "empty" &&
        node.kind != OpKind::kView &&
        loops[i].kind != runtime::LoopKind::kView) {
      ++count;
    }
  }
  return count;
}

/// Relative to what is expected.
double Error(double actual, double expected) {
  return std::abs(actual - expected) / expected;
}

TEST(CompiledZoo, KeepsWhatAotAutogradKeeps) {
  const std::vector<Row> rows = RowsOf("saved_bytes.csv");
  ASSERT_FALSE(rows.empty());
  std::string others;
  std::size_t close = 0;
  for (const Row& row : rows) {
    const std::int64_t bytes = SavedBytes(row[0], row[1], std::stod(row[2]));
    if (Error(static_cast<double>(bytes), std::stod(row[3])) <= kTolerance) {
      ++close;
    } else {
      others += row[0] + ":" + row[1] + ":" + row[2] + " ";
    }
  }
  EXPECT_GE(static_cast<double>(close),
            kLeastShareOfBytes * static_cast<double>(rows.size()))
      << others;
}

/// Of a step of which only these modules are compiled, its results apart.
std::int64_t SavedBytesOfOnly(const std::string& network,
                              const std::string& only) {
  RuntimeSpec spec = kCompiled;
  spec.only = {only};
  const OperatorGraph graph = runtime::Compile(StepOf(network, Mode::kTraining),
                                               spec, runtime::kFusedScatters);
  std::int64_t bytes = BytesOfRole(graph, TensorRole::kSaved);
  for (const ValueId id : graph.outputs()) {
    const Storage& storage = graph.storage(graph.value(id).storage);
    if (storage.role == TensorRole::kSaved) bytes -= storage.bytes;
  }
  return bytes;
}

TEST(CompiledZoo, KeepsWhatAutogradAndAotAutogradKeepAroundModulesAlone) {
  const std::vector<Row> rows = RowsOf("only_bytes.csv");
  ASSERT_FALSE(rows.empty());
  std::string others;
  std::size_t close = 0;
  for (const Row& row : rows) {
    const std::int64_t bytes = SavedBytesOfOnly(row[0], row[1]);
    if (Error(static_cast<double>(bytes), std::stod(row[2])) <= kTolerance) {
      ++close;
    } else {
      others += row[0] + ":" + row[1] + " ";
    }
  }
  EXPECT_GE(close + 1, rows.size()) << others;
}

OperatorGraph SharedStep(const RuntimeSpec& runtime) {
  const std::string network = "resnet18";
  const Program program = zoo::Load(network);
  TraceOptions options{.run = {.mode = Mode::kTraining, .runtime = runtime}};
  options.loop.parallel = ParseParallel("--parallel", "ddp:4");
  return TraceProgram(program,
                      BindInputs(program.inputs(), {.batch = 2}, network),
                      options)
      .graph;
}

std::int64_t ExchangedBytes(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind != OpKind::kCollective) continue;
    for (const ValueId id : node.outputs) bytes += graph.value(id).type.Bytes();
  }
  return bytes;
}

TEST(CompiledZoo, ExchangesTheGradientsOfEagerPyTorch) {
  const std::int64_t eager = ExchangedBytes(SharedStep({}));
  ASSERT_GT(eager, 0);
  EXPECT_EQ(ExchangedBytes(SharedStep(kCompiled)), eager);
}

TEST(CompiledZoo, HasTheKernelsOfInductorsScheduler) {
  const std::vector<Row> rows = RowsOf("kernel_counts.csv");
  ASSERT_FALSE(rows.empty());
  std::string others;
  std::size_t close = 0;
  for (const Row& row : rows) {
    const Mode mode = row[1] == "training" ? Mode::kTraining : Mode::kInference;
    const double expected = std::stod(row[2]) + std::stod(row[3]);
    if (Error(KernelsOf(row[0], mode), expected) <= kTolerableCount) {
      ++close;
    } else {
      others += row[0] + ":" + row[1] + " ";
    }
  }
  EXPECT_GE(static_cast<double>(close),
            kLeastShare * static_cast<double>(rows.size()))
      << others;
}

}  // namespace
}  // namespace foretell
