#include "src/classify/step_inputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "foretell/device.h"
#include "foretell/graph_io.h"
#include "src/core/units.h"
#include "tests/classify/toy_steps.h"
#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;

/// A file of the test's own that is gone at its end.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "steps.jsonl") {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

MemoryOptions OnA100() {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  return {.device = catalog.FindDevice("a100-sxm4-40gb"),
          .context = catalog.FindContext("cuda12-eager")};
}

TEST(StepInputs, SumOverLayersAndSimulate) {
  const OperatorGraph graph = ParseGraph(R"(
    graph batch=2
    %x = input f32[2,1024]
    %a = linear(%x, weight f32[1024,1024]) : f32[2,1024]
    %b = relu(%a) : f32[2,1024])");
  const StepInputs inputs = StepInputsOf(graph, OnA100());
  EXPECT_EQ(inputs.batch, 2);
  EXPECT_EQ(inputs.parameters, 1024 * 1024);
  EXPECT_EQ(inputs.activations, 2048);
  EXPECT_EQ(inputs.Count(LayerKind::kLinear), 1);
  EXPECT_EQ(inputs.Count(LayerKind::kConvolution), 0);
  const MemoryBreakdown memory = SimulateMemory(graph, OnA100());
  EXPECT_EQ(inputs.simulated.total_mib, ToMiB(memory.total));
  EXPECT_EQ(inputs.simulated.held_mib, inputs.simulated.total_mib);
  // The weight, the input and two results.
  EXPECT_EQ(inputs.simulated.tensors_mib, 4 + 3 * 8 / 1024.0);
}

TEST(StepInputs, HoldWhatAnEarlierPassLeftBehind) {
  const auto relu = [](const std::string& rows) {
    const std::string type = "f32[" + rows + ",1048576]";
    return ParseGraph("graph mode=training optimizer=\"sgd\"\n%x = input " +
                      type + "\n%y = relu(%x) : " + type + "\noutput %y\n");
  };
  const OperatorGraph two = relu("2");
  const OperatorGraph ten = relu("10");
  const OperatorGraph twelve = relu("12");
  const StepInputs alone = StepInputsOf(twelve, OnA100());
  // Two tensors of 40 MiB serve none of 48; of 8 MiB they share 20 MiB.
  const StepInputs after = StepInputsOf(twelve, OnA100(), &ten);
  EXPECT_EQ(after.simulated.total_mib, alone.simulated.total_mib + 80);
  EXPECT_EQ(after.simulated.held_mib, after.simulated.total_mib);
  EXPECT_EQ(after.simulated.tensors_mib, alone.simulated.tensors_mib);
  EXPECT_EQ(StepInputsOf(twelve, OnA100(), &two).simulated.total_mib,
            alone.simulated.total_mib + 20);
}

TEST(StepInputs, HoldNothingWhereTheStepDoesNotFit) {
  const OperatorGraph graph = ParseGraph(R"(
    %x = input f32[1,65536]
    %a = linear(%x, weight f32[262144,65536]) : f32[1,262144])");
  EXPECT_EQ(StepInputsOf(graph, OnA100()).simulated.held_mib, std::nullopt);
}

TEST(LabelledSteps, AreReadAsTheyWereWritten) {
  LabelledStep out_of_memory = ToyStep(50000);
  out_of_memory.memory_mib.reset();
  out_of_memory.inputs.simulated.held_mib.reset();
  const std::vector<LabelledStep> steps = {ToyStep(1234.5), out_of_memory};
  std::string text;
  for (const LabelledStep& step : steps) {
    text += LabelledStepToJson(step).dump() + "\n";
  }
  EXPECT_EQ(ReadLabelledSteps(TextFile(text).path()), steps);
}

TEST(LabelledSteps, NameTheLineThatIsWrong) {
  const std::string good = LabelledStepToJson(ToyStep(1000)).dump() + "\n";
  const auto expect = [&](const std::string& line, const std::string& part) {
    const TextFile file(good + line);
    ExpectError(ErrorCode::kCorrupt, "steps.jsonl: line 2: " + part,
                [&] { ReadLabelledSteps(file.path()); });
  };
  nlohmann::json bad = LabelledStepToJson(ToyStep(1000));
  bad["inputs"]["layers"][1]["kind"] = "lstm";
  expect(bad.dump(), "inputs.layers[1].kind is 'lstm'");
  bad = LabelledStepToJson(ToyStep(1000));
  bad["memory_mib"] = "much";
  expect(bad.dump(), "memory_mib is \"much\"");
  expect("{", "");
}

TEST(LabelledSteps, RefuseAnEmptyFile) {
  const TextFile file("");
  ExpectError(ErrorCode::kCorrupt, "holds no step",
              [&] { ReadLabelledSteps(file.path()); });
}

}  // namespace
}  // namespace foretell::classify
