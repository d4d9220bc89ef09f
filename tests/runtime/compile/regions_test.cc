// Steps that graph breaks divide: by hand, and what AOTAutograd keeps of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/graph/compiled_call.h"
#include "src/runtime/compile/compile.h"
#include "src/runtime/compile/decompose.h"

namespace foretell::runtime {
namespace {

constexpr char kFolder[] = FORETELL_SOURCE_DIR "/tests/golden/compile/";

std::vector<std::string> Fields(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, separator);) {
    fields.push_back(field);
  }
  return fields;
}

OperatorGraph Compiled(const std::string& text,
                       const std::vector<std::string>& breaks,
                       const std::vector<std::string>& only = {},
                       const std::string& recompute = {}) {
  RuntimeSpec spec{.runtime = Runtime::kCompile};
  spec.breaks = breaks;
  spec.only = only;
  return Compile(ParseGraph(text), spec, kFusedScatters, recompute);
}

/// Bytes by region that its forward pass makes and the step keeps.
std::vector<std::int64_t> KeptByRegion(const OperatorGraph& graph) {
  std::vector<std::int64_t> bytes;
  std::vector<bool> is_seen(graph.storages().size(), false);
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) break;
    if (node.FindAttribute(kCallAttribute) != nullptr) bytes.push_back(0);
    for (const ValueId output : node.outputs) {
      const StorageId id = graph.value(output).storage;
      const Storage& storage = graph.storage(id);
      if (is_seen[static_cast<std::size_t>(id)] ||
          storage.role != TensorRole::kSaved) {
        continue;
      }
      is_seen[static_cast<std::size_t>(id)] = true;
      bytes.back() += storage.bytes;
    }
  }
  return bytes;
}

TEST(GraphBreaks, KeepWhatAotAutogradKeepsOfEachRegion) {
  std::ifstream table(std::string(kFolder) + "region_bytes.csv");
  std::string line;
  std::getline(table, line);
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> kept;
  while (std::getline(table, line)) {
    const std::vector<std::string> row = Fields(line, ',');
    kept[{row[0], row[1]}].push_back(std::stoll(row[3]));
  }
  EXPECT_GE(kept.size(), 6U);
  for (const auto& [network, bytes] : kept) {
    SCOPED_TRACE(network.first);
    std::ifstream file(kFolder + ("regions/" + network.first + ".txt"));
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(KeptByRegion(Compiled(text.str(), Fields(network.second, '|'))),
              bytes);
  }
}

constexpr char kThree[] = R"(graph "three"
%x = input f32[1024]
%a = exp(%x) : f32[1024] @ "parts.0"
%b = sin(%a) : f32[1024] @ "parts.1"
%c = cos(%b) : f32[1024] @ "parts.2"
output %c
)";

std::size_t Kernels(const std::vector<std::string>& breaks) {
  return Compiled(kThree, breaks).nodes().size();
}

TEST(GraphBreaks, StopFusion) {
  EXPECT_EQ(Kernels({}), 1U);
  EXPECT_EQ(Kernels({"parts.1"}), 2U);
  EXPECT_EQ(Kernels({"parts.*"}), 3U);
  EXPECT_EQ(Kernels({"parts.2"}), 1U);  // Nothing follows.
}

// Functions that resume call each other: their locals stay.
TEST(GraphBreaks, HoldWhatTheyHandOnUntilTheForwardPassEnds) {
  const OperatorGraph graph = Compiled(kThree, {"parts.*"});
  std::map<StorageId, NodeId> freed;
  for (const MemoryEvent& event : graph.events()) {
    if (event.kind == MemoryEvent::Kind::kFree) {
      freed[event.storage] = event.node;
    }
  }
  for (const NodeId id : {0, 1}) {
    const ValueId result = graph.node(id).outputs.front();
    EXPECT_EQ(freed.at(graph.value(result).storage), 2);
  }
}

TEST(GraphBreaks, CountTheTensorsOfEachCall) {
  const OperatorGraph graph = Compiled(R"(graph "linear"
%x = input f32[8,8]
%v = parameter f32[8,8]
%w = parameter f32[8,8]
%m = buffer f32[8]
%a = mm(%x, %v) : f32[8,8] @ "first"
%b = mm(%a, %w) : f32[8,8] @ "second"
%c = add(%b, %m) : f32[8,8] @ "second"
output %c
)",
                                       {"first"});
  ASSERT_EQ(graph.nodes().size(), 3U);
  const std::string name(kCallAttribute);
  EXPECT_EQ(graph.node(0).Ints(name, {}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(graph.node(1).Ints(name, {}), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(graph.node(2).FindAttribute(kCallAttribute), nullptr);
}

// Each region folds its own constants, and parameters that no region reads any
// more are gone.
TEST(GraphBreaks, FreezeEachRegion) {
  RuntimeSpec spec{.runtime = Runtime::kCompile};
  spec.freezing = Freezing::kDiscard;
  spec.breaks = {"first"};
  const OperatorGraph graph = Compile(ParseGraph(R"(graph "frozen"
%0 = input f16[8,8]
%1 = parameter f32[8,8]
%2 = parameter f32[8,8]
%3 = to(%1) {copy=false} : f16[8,8] @ "first"
%4 = mm(%0, %3) : f16[8,8] @ "first"
%5 = to(%2) {copy=false} : f16[8,8] @ "second"
%6 = mm(%4, %5) : f16[8,8] @ "second"
output %6
)"),
                                      spec, kFusedScatters);
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(CountSources(graph, TensorRole::kParameter), 0);
  EXPECT_EQ(CountSources(graph, TensorRole::kBuffer), 2);
  EXPECT_NE(graph.node(0).inputs[1], graph.node(1).inputs[1]);
}

TEST(GraphBreaks, RefuseAccumulatedBatches) {
  EXPECT_THROW(Compiled(R"(graph "two" mode=training
%x = input f32[8]
%a = sin(%x) : f32[8] @ "m"
phase backward
%g = ones_like(%a) : f32[8] backward_temporary
phase forward
%b = sin(%x) : f32[8] @ "m"
output %b
)",
                        {"m"}),
               Error);
}

TEST(GraphBreaks, RefuseModulesThatTheNetworkDoesNotRun) {
  EXPECT_THROW(Compiled(kThree, {"parts.1", "parts.7"}), Error);
}

/// "e": eager, "c": the first kernel of a compiled call, "-": another.
std::string RunBy(const OperatorGraph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    if (node.FindAttribute(kEagerAttribute) != nullptr) {
      text += 'e';
    } else {
      text += node.FindAttribute(kCallAttribute) != nullptr ? 'c' : '-';
    }
  }
  return text;
}

std::string RunBy(const std::vector<std::string>& only) {
  return RunBy(Compiled(kThree, {}, only));
}

TEST(ModulesAlone, LeaveTheRestToEagerPyTorch) {
  EXPECT_EQ(RunBy({"parts.1"}), "ece");
  EXPECT_EQ(RunBy({"parts.0", "parts.2"}), "cec");
  EXPECT_EQ(RunBy({"parts.*"}), "ccc");
  EXPECT_EQ(RunBy({"auto"}), "ccc");
  EXPECT_EQ(RunBy({"parts"}), "c");
  const OperatorGraph graph = Compiled(kThree, {}, {"parts.1"});
  EXPECT_EQ(graph.node(0).target, "exp");
  EXPECT_EQ(graph.node(2).target, "cos");
}

TEST(ModulesAlone, AreCompiledWithTheModulesInside) {
  EXPECT_EQ(RunBy({"parts", "parts.1"}), "c");
  EXPECT_EQ(RunBy({"parts.1", "parts"}), "c");
}

// Locals of the caller do not live until the forward pass ends, as those of a
// function that Dynamo resumes in do.
TEST(ModulesAlone, FreeTheirOperandsWhenTheyReturn) {
  const OperatorGraph graph = Compiled(kThree, {}, {"parts.1"});
  std::map<StorageId, NodeId> freed;
  for (const MemoryEvent& event : graph.events()) {
    if (event.kind == MemoryEvent::Kind::kFree) {
      freed[event.storage] = event.node;
    }
  }
  for (const NodeId id : {0, 1}) {
    const ValueId result = graph.node(id).outputs.front();
    EXPECT_EQ(freed.at(graph.value(result).storage), id + 1);
  }
}

/// exp saves its result, sin its operand.
constexpr char kTrained[] = R"(graph "trained" mode=training
%w = parameter f32[64]
%x = input f32[64]
%a = mul(%w, %x) : f32[64] @ "head"
%b = exp(%a) : f32[64] saved @ "parts.0"
%c = sin(%b) : f32[64] @ "parts.0"
%d = exp(%c) : f32[64] saved @ "tail"
%l = sum(%d) : f32[] saved @ "tail"
phase backward
%g = ones_like(%l) : f32[] backward_temporary
%h = expand(%g) {size=[64]} : f32[64] strides=[0] alias %g
%i = mul(%h, %d) : f32[64] backward_temporary
%j = cos(%b) : f32[64] backward_temporary
%k = mul(%i, %j) : f32[64] backward_temporary
%m = mul(%k, %b) : f32[64] backward_temporary
%n = mul(%m, %x) : f32[64] gradient
output %l
)";

TEST(ModulesAlone, RunTheirBackwardPassBetweenEagerOnes) {
  EXPECT_EQ(RunBy(Compiled(kTrained, {}, {"parts.0"})), "eceeeeece");
}

TEST(ModulesAlone, RefuseWhatIsNotModelled) {
  EXPECT_THROW(RunBy({"parts.7"}), Error);
  EXPECT_THROW(Compiled(kTrained, {}, {"parts.0"}, "head"), Error);
  RuntimeSpec spec{.runtime = Runtime::kCompile, .cuda_graphs = true};
  spec.only = {"parts.1"};
  EXPECT_THROW(Compile(ParseGraph(kThree), spec, kFusedScatters), Error);
}

}  // namespace
}  // namespace foretell::runtime
