// What torch.compile keeps for the backward pass, against AOTAutograd.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "foretell/trace.h"
#include "foretell/zoo.h"
#include "src/runtime/compile/decompose.h"
#include "src/runtime/compile/joint_graph.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/saved_tensors.h"

namespace foretell {
namespace {

/// Seeds of attention and masks of a byte, which differ, are less.
constexpr double kTolerance = 1e-3;

std::int64_t SavedBytes(const std::string& network) {
  const Program program = zoo::Load(network);
  const Trace trace =
      TraceProgram(program, BindInputs(program.inputs(), {.batch = 2}, network),
                   {.run = {.mode = Mode::kTraining}});
  const runtime::JointGraph joint = runtime::MakeJointGraph(runtime::Decompose(
      runtime::ExposeSaved(trace.graph), {.runtime = Runtime::kCompile}));
  std::int64_t bytes = 0;
  for (const std::int32_t place : runtime::SavedTensors(joint, 1)) {
    const runtime::JointNode& node =
        joint.nodes[static_cast<std::size_t>(place)];
    if (!node.is_source) bytes += node.bytes;
  }
  return bytes;
}

TEST(CompiledZoo, KeepsWhatAotAutogradKeeps) {
  std::ifstream rows(FORETELL_SOURCE_DIR
                     "/tests/golden/compile/saved_bytes.csv");
  std::string line;
  std::getline(rows, line);
  int count = 0;
  while (std::getline(rows, line)) {
    std::istringstream fields(line);
    std::string network;
    std::string bytes;
    std::getline(fields, network, ',');
    std::getline(fields, bytes);
    const double expected = std::stod(bytes);
    EXPECT_NEAR(static_cast<double>(SavedBytes(network)), expected,
                expected * kTolerance)
        << network;
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace foretell
