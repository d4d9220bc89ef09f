#include "src/cost/dispatch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"

namespace foretell::cost {
namespace {

/// A cast and an activation that Inductor generated, a view, and the optimizer.
std::vector<NodeDispatch> DispatchIn(const std::string& runtime) {
  const std::string text = "graph \"g\" mode=training runtime=\"" + runtime +
                           "\"\n"
                           "%x = input f32[64,64]\n"
                           "%w = parameter f32[64,64]\n"
                           "%g = parameter f32[64,64]\n"
                           "%a = fused_elementwise(%x) : f32[64,64]\n"
                           "%b = fused_elementwise(%a) : f32[64,64]\n"
                           "%v = view(%b) : f32[4096] alias %b\n"
                           "%l = linear(%b, %w) : f32[64,64]\n"
                           "output %l\n";
  return DispatchOf(ParseGraph(text), {});
}

TEST(Dispatch, CompiledCodePaysForTheCallOnce) {
  const std::vector<NodeDispatch> nodes = DispatchIn("compile");
  EXPECT_GT(nodes[0].first_us, 3 * nodes[1].first_us);
  EXPECT_GT(nodes[1].first_us, 0);
  EXPECT_EQ(nodes[2].first_us, 0);
  EXPECT_GT(nodes[3].first_us, nodes[1].first_us);
  EXPECT_GT(nodes[3].further.other_us, 0);
}

TEST(Dispatch, ACallOfCompiledCodeChecksEachParameter) {
  const auto passes = [](const std::string& parameters) {
    const OperatorGraph graph = ParseGraph(
        "graph \"g\" mode=training runtime=\"compile\"\n" + parameters +
        "%x = input f32[4]\n"
        "%a = fused_elementwise(%x) : f32[4]\n"
        "phase backward\n"
        "%b = fused_elementwise(%x) : f32[4]\n"
        "output %a\n");
    return DispatchOf(graph, {});
  };
  const std::vector<NodeDispatch> none = passes("");
  const std::vector<NodeDispatch> two =
      passes("%w = parameter f32[4]\n%v = parameter f32[4]\n");
  const double forward_us = two[0].first_us - none[0].first_us;
  const double backward_us = two[1].first_us - none[1].first_us;
  EXPECT_GT(forward_us, 0);
  EXPECT_GT(backward_us, forward_us);
}

TEST(Dispatch, AnOperatorOutsideOfWhatIsCompiledCostsWhatItDoesInEager) {
  const auto first_us = [](const std::string& runtime,
                           const std::string& mark) {
    return DispatchOf(
               ParseGraph("graph \"g\" mode=training runtime=\"" + runtime +
                          "\"\n"
                          "%x = input f32[64,64]\n"
                          "%w = parameter f32[64,64]\n"
                          "%l = linear(%x, %w) " +
                          mark + ": f32[64,64]\noutput %l\n"),
               {})[0]
        .first_us;
  };
  const double eager_us = first_us("eager", "");
  EXPECT_EQ(first_us("compile", "{eager=true} "), eager_us);
  EXPECT_GT(first_us("compile", ""), eager_us);
}

TEST(Dispatch, ACallOfCompiledCodeKeepsAndUnpacksTensors) {
  const auto passes = [](const std::string& role) {
    return DispatchOf(
        ParseGraph("graph \"g\" mode=training runtime=\"compile\"\n"
                   "%x = input f32[4]\n"
                   "%a = fused_elementwise(%x) : f32[4]" +
                   role +
                   "\nphase backward\n"
                   "%b = fused_elementwise(%a) : f32[4] backward_temporary\n"
                   "output %b\n"),
        {});
  };
  const std::vector<NodeDispatch> none = passes("");
  const std::vector<NodeDispatch> kept = passes(" saved");
  EXPECT_GT(kept[0].first_us, none[0].first_us);
  EXPECT_GT(kept[1].first_us, none[1].first_us);
}

TEST(Dispatch, ACudaGraphIsOneLaunch) {
  const std::vector<NodeDispatch> nodes = DispatchIn("compile,reduce-overhead");
  EXPECT_GT(nodes[0].first_us, 0);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i].first_us, 0) << i;
    EXPECT_EQ(nodes[i].further.other_us, 0) << i;
  }
}

TEST(Dispatch, TheOptimizerIsEagerInEveryRuntime) {
  const auto optimizer_us = [](const std::string& runtime) {
    const OperatorGraph graph =
        ParseGraph("graph \"g\" mode=training optimizer=\"sgd\"" + runtime +
                   "\n"
                   "%w = parameter f32[64,64]\n"
                   "phase optimizer\n"
                   "%n = _foreach_add_(%w) : f32[64,64] alias %w\n");
    return DispatchOf(graph, {}).front().first_us;
  };
  EXPECT_GT(optimizer_us(""), 0);
  EXPECT_EQ(optimizer_us(""), optimizer_us(" runtime=\"compile\""));
}

}  // namespace
}  // namespace foretell::cost
