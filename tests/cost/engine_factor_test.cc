#include "src/cost/engine_factor.h"

#include <gtest/gtest.h>

#include <vector>

#include "foretell/graph_io.h"

namespace foretell::cost {
namespace {

const DeviceSpec& Device(const char* name) {
  return DeviceCatalog::BuiltIn().FindDevice(name);
}

TEST(EngineFactor, IsOfGraphsThatTensorRtRuns) {
  EXPECT_FALSE(EngineTraitsOf(ParseGraph("graph \"g\"\n%x = input f16[2]\n")));
  const auto traits =
      EngineTraitsOf(ParseGraph("graph \"g\" runtime=\"tensorrt,int8\"\n"
                                "%x = input f16[1,8,4,4]\n"
                                "%y = conv2d(%x, parameter i8[8,1,3,3]) "
                                "{padding=[1, 1], groups=8} : f16[1,8,4,4]\n"));
  ASSERT_TRUE(traits);
  EXPECT_TRUE(traits->int8);
  EXPECT_FALSE(traits->sparse);
  EXPECT_TRUE(traits->groups);
}

TEST(EngineFactor, LeavesEnginesWithoutTensorsOf8Bits) {
  const auto traits =
      EngineTraitsOf(ParseGraph("graph \"g\" runtime=\"tensorrt,int8\"\n"
                                "%x = input f16[8]\n"));
  ASSERT_TRUE(traits);
  EXPECT_FALSE(traits->int8);
}

TEST(EngineFactor, LeavesRecurrentLayersAsTheyAreInPyTorch) {
  const OperatorGraph graph = ParseGraph(
      "graph \"g\" runtime=\"tensorrt\"\n"
      "%x = input f16[5,2,8]\n"
      "%a = relu(%x) : f16[5,2,8]\n"
      "%y = gru(%a, input f16[1,2,16], parameter f16[48,8], parameter "
      "f16[48,16]) : f16[5,2,16]\n");
  EXPECT_EQ(NodesWithEngineFactor(graph), (std::vector<bool>{true, false}));
}

TEST(EngineFactor, IsTheProductOfWhatApplies) {
  const double plain = EngineFactor({}, Device("a100"));
  EXPECT_EQ(EngineFactor({}, Device("h100")), plain);  // No rows: as Ampere.
  EXPECT_GT(EngineFactor({}, Device("t4")), plain);
  const double sparse = EngineFactor({.sparse = true}, Device("a100"));
  // Sparse engines are of 8 bits, too: one factor has both.
  EXPECT_EQ(EngineFactor({.int8 = true, .sparse = true}, Device("a100")),
            sparse);
  EXPECT_DOUBLE_EQ(
      EngineFactor({.sparse = true, .groups = true}, Device("a100")) / sparse,
      EngineFactor({.groups = true}, Device("a100")) / plain);
}

}  // namespace
}  // namespace foretell::cost
