// Variables of Python that keep values of a file alive, as its stacks show
// them.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/exported/frame_names.h"

namespace foretell::exported {
namespace {

using Names = std::vector<std::string>;
using Ends = std::vector<std::size_t>;

/// A call in the modules `calls` that makes the slots `made`, its frames all in
/// one file, as "line: text".
Node Call(const Names& calls, const Names& frames,
          const std::vector<int>& made) {
  Node node{.calls = calls};
  for (const std::string& frame : frames) {
    const std::size_t colon = frame.find(": ");
    node.stack.push_back({.file = "net.py",
                          .line = frame.substr(0, colon),
                          .text = frame.substr(colon + 2)});
  }
  for (const int slot : made) node.outputs.push_back({.value = Slot{slot}});
  return node;
}

Ends EndsOf(std::vector<Node> nodes, int num_slots) {
  Graph graph;
  graph.nodes = std::move(nodes);
  graph.num_slots = num_slots;
  return NamesEnd(graph);
}

TEST(ExportedNames, ReadsTheFramesOfAStack) {
  const std::vector<SourceLine> lines = SourceLinesOf(
      "File \"/a/net.py\", line 20, in forward\n    x = self.a(x)\n"
      "  File \"/b/linear.py\", line 7, in forward\n    return F.linear(x)");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].file, "net.py");
  EXPECT_EQ(lines[0].line, "20");
  EXPECT_EQ(lines[0].text, "x = self.a(x)");
  EXPECT_EQ(lines[1].text, "return F.linear(x)");
  EXPECT_TRUE(SourceLinesOf("File \"/a/net.py").empty());
  EXPECT_EQ(SourceLinesOf("File \"a\", line 3").size(), 1U);
}

TEST(ExportedNames, ReadsWhatALineAssigns) {
  EXPECT_EQ(AssignedNames("x = f(y)"), Names{"x"});
  EXPECT_EQ(AssignedNames("x: Tensor = f(y)"), Names{"x"});
  EXPECT_EQ(AssignedNames("x += y"), Names{"x"});
  EXPECT_EQ(AssignedNames("(a, b), *c = f(y)"), (Names{"a", "b", "c"}));
  for (const std::string_view other :
       {"return x == y", "x == y", "f(x, y=z)", "mask = f(x),", "self.x = y",
        "assert x <= y", "y=f(x)", ""}) {
    EXPECT_TRUE(AssignedNames(other).empty()) << other;
  }
}

TEST(ExportedNames, LiveUntilTheyAreAssignedAgain) {
  EXPECT_EQ(EndsOf({Call({}, {"1: h = f(x)"}, {0}), Call({}, {"2: g(h)"}, {1}),
                    Call({}, {"3: h = g(x) + 1"}, {2}),
                    Call({}, {"3: h = g(x) + 1"}, {3}),
                    Call({}, {"4: return h + x"}, {4})},
                   5),
            (Ends{4, 0, 0, 5, 0}));
}

TEST(ExportedNames, LiveUntilTheirFunctionReturns) {
  EXPECT_EQ(
      EndsOf({Call({"a"}, {"1: x = self.a(x)", "7: y = f(x)"}, {0}),
              Call({"a"}, {"1: x = self.a(x)", "8: return g(y)"}, {1}),
              Call({}, {"2: x = x * 2"}, {2}), Call({}, {"3: return x"}, {3})},
             4),
      (Ends{2, 3, 4, 0}));
}

TEST(ExportedNames, AnotherRoundOfALoopAssignsAgain) {
  const std::string line = "5: x = block(x, self.mask(x))";
  EXPECT_EQ(EndsOf({Call({"blocks.0"}, {line, "9: return f(x)"}, {0}),
                    Call({"blocks.1"}, {line, "9: return f(x)"}, {1}),
                    Call({"blocks.2"}, {line, "9: return f(x)"}, {2}),
                    Call({}, {"6: return x"}, {3})},
                   4),
            (Ends{2, 3, 4, 0}));
}

TEST(ExportedNames, ALineOfSeveralCallsAssignsTheLast) {
  const std::string line = "5: x = self.act(self.norm(x))";
  EXPECT_EQ(EndsOf({Call({}, {"4: x = x * 2"}, {0}),
                    Call({"norm"}, {line, "9: return f(x)"}, {1}),
                    Call({"act"}, {line, "9: return f(x)"}, {2}),
                    Call({}, {"6: return x"}, {3})},
                   4),
            (Ends{3, 0, 4, 0}));
}

TEST(ExportedNames, SeveralVariablesTakeAResultEachOrTheFirstTakesIt) {
  EXPECT_EQ(
      EndsOf({Call({}, {"1: a, b = x.chunk(2)"}, {0, 1}),
              Call({}, {"2: b = f(a)"}, {2}), Call({}, {"3: a, b = g(a)"}, {3}),
              Call({}, {"4: return a"}, {4})},
             5),
      (Ends{3, 2, 3, 4, 0}));
}

TEST(ExportedNames, NothingIsHeldWithoutStacks) {
  EXPECT_EQ(EndsOf({Call({}, {}, {0}), Call({}, {}, {1})}, 2), (Ends{0, 0}));
}

}  // namespace
}  // namespace foretell::exported
