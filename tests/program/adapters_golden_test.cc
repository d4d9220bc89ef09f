// Traces with adapters against PEFT itself: the networks of
// scripts/generate/make_adapter_golden.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "foretell/trace.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;

struct GoldenAdapters {
  std::string network;
  std::string precision;
  std::int64_t fixed = 0;
  std::int64_t peak = 0;
  std::int64_t end = 0;
  std::string adapters;
};

std::vector<GoldenAdapters> ReadGoldenAdapters() {
  std::ifstream file(FORETELL_SOURCE_DIR
                     "/tests/golden/adapters/live_bytes.csv");
  std::vector<GoldenAdapters> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    GoldenAdapters row;
    char comma = 0;
    std::istringstream words(line);
    std::getline(words, row.network, ',');
    std::getline(words, row.precision, ',');
    words >> row.fixed >> comma >> row.peak >> comma >> row.end >> comma;
    std::getline(words, row.adapters);
    rows.push_back(row);
  }
  return rows;
}

program_test::Network GoldenNetwork(const std::string& name) {
  if (name == "embedding") {
    return Simple([](Layers& l) {
      return Chain({l.Embedding(10, 16), l.Linear(16, 32)});
    });
  }
  if (name == "convolution") {
    return Simple([](Layers& l) {
      return l.Conv(3, 8, {3, 3},
                    {.stride = {1, 1},
                     .padding = {0, 0},
                     .dilation = {1, 1},
                     .bias = true});
    });
  }
  return Simple([](Layers& l) {
    return Chain({l.Linear(16, 32),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(32, 8)});
  });
}

BoundInput GoldenInput(const std::string& network) {
  if (network == "embedding") return {"ids", {DType::kI64, {4}}};
  if (network == "convolution") return {"x", {DType::kF32, {1, 3, 8, 8}}};
  return {"x", {DType::kF32, {4, 16}}};
}

OperatorGraph TraceOf(const GoldenAdapters& row) {
  const BoundInput input = GoldenInput(row.network);
  return TraceProgram(
             FakeProgram("net", {input}, GoldenNetwork(row.network)), {input},
             {.run = {.mode = Mode::kTraining,
                      .precision = row.precision == "f32" ? Precision::kFp32
                                                          : Precision::kBf16,
                      .optimizer = Optimizer::kSgd,
                      .autocast = row.precision == "autocast"},
              .loop = {.lora = ParseLora("lora", row.adapters)}})
      .graph;
}

/// Bytes alive in the recorded forward pass, whose last operator is the loss.
void ExpectLiveBytes(const OperatorGraph& graph, const GoldenAdapters& row) {
  const auto loss = std::ranges::find(graph.nodes(), "mean", &Node::target) -
                    graph.nodes().begin();
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const MemoryEvent& event : graph.events()) {
    if (event.node >= loss) break;
    const std::int64_t bytes = graph.storage(event.storage).bytes;
    live += event.kind == MemoryEvent::Kind::kAllocate ? bytes : -bytes;
    if (event.node != kNone) peak = std::max(peak, live);
  }
  EXPECT_EQ(peak, row.peak);
  EXPECT_EQ(live, row.end);
}

TEST(AdaptersGolden, KeepWhatPeftKeeps) {
  const std::vector<GoldenAdapters> rows = ReadGoldenAdapters();
  EXPECT_EQ(rows.size(), 58u);
  for (const GoldenAdapters& row : rows) {
    SCOPED_TRACE(row.network + " " + row.precision + " " + row.adapters);
    const OperatorGraph graph = TraceOf(row);
    std::int64_t fixed = 0;
    for (const Storage& storage : graph.storages()) {
      const bool is_fixed = storage.role == TensorRole::kParameter ||
                            storage.role == TensorRole::kInput;
      if (is_fixed) fixed += storage.bytes;
    }
    EXPECT_EQ(fixed, row.fixed);
    ExpectLiveBytes(graph, row);
  }
}

}  // namespace
}  // namespace foretell
