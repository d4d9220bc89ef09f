#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "foretell/trace.h"
#include "src/graph/strides.h"
#include "src/kernels/expansion.h"
#include "tests/program/networks.h"

// What a trace records of strides, against what the rules of kernels derive.

namespace foretell::cost {
namespace {

/// Operators for which the rules are not PyTorch's: they know no gaps of a
/// slice's offset, and take what they do not name for row-major.
const std::set<std::string> kDiffering = {"as_strided",
                                          "chunk",
                                          "diagonal",
                                          "lstm",
                                          "gru",
                                          "rnn_tanh",
                                          "native_dropout",
                                          "roll",
                                          "split",
                                          "unfold",
                                          "unsafe_chunk",
                                          "unsafe_split",
                                          "scaled_dot_product_attention"};

/// "target: recorded, derived" of values that lie elsewhere, by operator.
std::map<std::string, std::string> DifferencesOf(const OperatorGraph& graph) {
  const Run run = RunOf(graph.info(), {});
  Expansion expansion(graph, run);
  ExpandNodes(expansion);
  std::map<std::string, std::string> differences;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    for (const ValueId id : node.outputs) {
      const Value& value = graph.value(id);
      const Strides recorded = foretell::StridesOf(value);
      const Strides& derived = expansion.tensors.StridesOf(id);
      if (HaveSameOrder(value.type.shape, recorded, derived)) continue;
      differences[node.target] = testing::PrintToString(recorded) + ", " +
                                 testing::PrintToString(derived);
    }
  }
  return differences;
}

TEST(RecordedStrides, AreThoseThatTheRulesDerive) {
  for (const program_test::NamedNetwork& network :
       program_test::AllNetworks()) {
    const OperatorGraph graph =
        TraceProgram(network.ToProgram(), network.inputs).graph;
    for (const auto& [target, difference] : DifferencesOf(graph)) {
      EXPECT_TRUE(kDiffering.contains(target))
          << network.name << ": " << target << ": " << difference;
    }
  }
}

}  // namespace
}  // namespace foretell::cost
