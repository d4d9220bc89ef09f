#include "src/kernels/constants.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/cost.h"
#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

/// Whether the last node of a graph in text form only prepares a table.
bool LastIsATable(const std::string& body) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  return IsConstantTable(graph, graph.nodes().back(), VaryingValues(graph));
}

TEST(ConstantTable, IsWhatIntegersAreMadeOfConstantsAlone) {
  EXPECT_TRUE(LastIsATable("%t = buffer i64[8]\n%u = add(%t, %t) : i64[8]\n"));
  EXPECT_TRUE(LastIsATable("%t = arange() {end=8} : i64[8]\n"));
  EXPECT_TRUE(LastIsATable(R"(%t = arange() {end=8} : i64[8]
%u = view(%t) {size=[2,4]} : i64[2,4] alias %t
%v = lt(%u, %u) : bool[2,4]
)"));
}

TEST(ConstantTable, IsNotWhatAnInputReaches) {
  EXPECT_FALSE(LastIsATable("%x = input i64[8]\n%y = add(%x, %x) : i64[8]\n"));
  EXPECT_FALSE(LastIsATable(R"(%x = input f32[8]
%y = argmax(%x) : i64[]
%z = add(%y, %y) : i64[]
)"));
}

TEST(ConstantTable, IsNotMadeOfFloatingPointNumbers) {
  EXPECT_FALSE(
      LastIsATable("%w = parameter f32[8]\n%u = add(%w, %w) : f32[8]\n"));
}

// Codes less their zero points, in every step; a mask remains a table.
TEST(ConstantTable, IsNotMadeOfQuantizedWeights) {
  const std::string codes = "%w = buffer i8[8,8]\n%z = buffer i64[8,1]\n";
  EXPECT_FALSE(LastIsATable(codes + "%u = sub(%w, %z) : i64[8,8]\n"));
  EXPECT_TRUE(LastIsATable(codes + "%u = ne(%w, %z) : bool[8,8]\n"));
}

TEST(ConstantTable, IsNotRandom) {
  EXPECT_FALSE(LastIsATable("%r = randperm() {n=8} : i64[8]\n"));
}

// The counter of batches of a batch norm.
TEST(ConstantTable, IsNotACounterThatEveryStepAdvances) {
  const std::string counter =
      "%n = buffer i64[]\n"
      "%m = add_(%n) {other=1} : i64[] alias %n\n";
  EXPECT_FALSE(LastIsATable(counter));
  EXPECT_FALSE(LastIsATable(counter + "%o = mul(%m, %m) : i64[]\n"));
  EXPECT_FALSE(
      LastIsATable("%n = buffer i64[]\n"
                   "%m = fused_elementwise(%n) : i64[] alias %n\n"));
}

TEST(ConstantTable, CostsNothingInTheEstimate) {
  const CostEstimate cost = EstimateCost(ParseGraph(R"(graph "g"
%x = input f32[100]
%t = buffer i64[100000]
%u = add(%t, %t) : i64[100000]
%y = relu(%x) : f32[100]
)"),
                                         test::RoundDevice());
  EXPECT_EQ(cost.nodes[0].gpu_us, 0);
  EXPECT_EQ(cost.nodes[0].dispatch_us, 0);
  EXPECT_EQ(cost.nodes[0].bytes_read, 0);
  EXPECT_GT(cost.nodes[1].gpu_us, 0);
}

}  // namespace
}  // namespace foretell::cost
