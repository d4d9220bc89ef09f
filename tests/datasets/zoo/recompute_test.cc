// Checkpointed blocks, against what real PyTorch keeps alive.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "foretell/zoo.h"

namespace foretell {
namespace {

/// The network of scripts/generate/make_recompute_golden.py.
constexpr char kNetwork[] =
    "llama?width=64&depth=4&heads=4&kv_heads=4&inner=96&vocabulary=128&"
    "positions=64&seq=32";
/// There alone: a mask, positions, and a loss that is more than a number here.
constexpr std::int64_t kTheirs = 760;
/// There, `save=sdpa` keeps it also of the CPU's attention: of one block while
/// the backward pass runs through it, of all four before.
constexpr std::int64_t kLogSumExp = 2 * 4 * 32 * 4;

/// Bytes of storages that a step makes and that are results of operators.
struct Living {
  std::int64_t kept = 0;  ///< Before the backward pass.
  std::int64_t peak = 0;  ///< In it.
};

bool IsResult(const OperatorGraph& graph, NodeId node, StorageId storage) {
  return std::ranges::any_of(graph.node(node).outputs, [&](ValueId value) {
    return graph.value(value).storage == storage;
  });
}

Living LivingIn(const OperatorGraph& graph) {
  std::vector<bool> counts(graph.storages().size(), false);
  Living living;
  std::int64_t now = 0;
  for (const MemoryEvent& event : graph.events()) {
    if (event.node == kNone) continue;
    const bool is_born = event.kind == MemoryEvent::Kind::kAllocate;
    const auto index = static_cast<std::size_t>(event.storage);
    if (is_born) counts[index] = IsResult(graph, event.node, event.storage);
    if (!counts[index]) continue;
    const std::int64_t bytes = graph.storage(event.storage).bytes;
    now += is_born ? bytes : -bytes;
    const Phase phase = graph.node(event.node).phase;
    if (phase == Phase::kForward) living.kept = now;
    if (phase == Phase::kBackward) living.peak = std::max(living.peak, now);
  }
  return living;
}

Living Ours(const std::string& recompute) {
  const Program program = zoo::Load(kNetwork);
  return LivingIn(
      TraceProgram(
          program, BindInputs(program.inputs(), {.batch = 2}, kNetwork),
          {.run = {.mode = Mode::kTraining, .precision = Precision::kBf16},
           .loop = {.recompute = recompute}})
          .graph);
}

struct Row {
  std::int64_t kept = 0;
  std::int64_t peak = 0;
  std::string recompute;
};

std::vector<Row> ReadRows() {
  std::ifstream file(FORETELL_SOURCE_DIR
                     "/tests/golden/recompute/live_bytes.csv");
  std::string line;
  std::getline(file, line);  // The header.
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::stringstream stream(line);
    Row row;
    char comma = 0;
    stream >> row.kept >> comma >> row.peak >> comma >> row.recompute;
    rows.push_back(row);
  }
  return rows;
}

TEST(RecomputeOfZoo, KeepsWhatRealPyTorchKeeps) {
  const std::vector<Row> rows = ReadRows();
  ASSERT_EQ(rows.size(), 6U);
  ASSERT_EQ(rows.front().recompute, "auto");
  const Living all = Ours("auto");
  EXPECT_EQ(rows.front().peak - all.peak, kTheirs);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.recompute);
    const Living ours = Ours(row.recompute);
    const bool keeps = row.recompute.find("save") != std::string::npos;
    EXPECT_EQ((row.kept - rows.front().kept) - (ours.kept - all.kept),
              keeps ? 4 * kLogSumExp : 0);
    EXPECT_EQ((row.peak - ours.peak - kTheirs) % kLogSumExp, 0);
    EXPECT_LE(row.peak - ours.peak - kTheirs, keeps ? 4 * kLogSumExp : 0);
  }
}

}  // namespace
}  // namespace foretell
