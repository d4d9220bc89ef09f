#include "src/pictures/step_json.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "foretell/mig.h"
#include "src/core/json_text.h"
#include "src/pictures/picture_json.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

nlohmann::ordered_json DocumentOf(const OperatorGraph& graph) {
  Prediction prediction = PredictToy(graph);
  mig::Recommendation advice =
      mig::Recommend(ToDemand(prediction, "toy"), ToyDevice());
  const Report report = MakeReport({"toy", "graph"}, graph,
                                   std::move(prediction), std::move(advice));
  return StepToJson(report, graph, ToyDevice());
}

TEST(StepToJson, HoldsTheAnswerAndItsPictures) {
  const auto json = DocumentOf(ToyGraph());
  EXPECT_EQ(json["result"]["model"], "toy");
  EXPECT_EQ(json["device"]["peak_tflops"]["tf32"], 156);
  EXPECT_EQ(json["device"]["mig"]["memory_slots"], 8);
  EXPECT_EQ(json["memory_over_step"]["operators"], 3);
  EXPECT_EQ(json["modules"].size(), 3U);
  EXPECT_EQ(json["kernels"]["rest"]["kernels"], 0);
}

/// A chain of operators, each in a module of its own with a long name.
OperatorGraph LongGraph(int length) {
  std::string text = "graph \"long\"\n%v0 = input f32[64]\n";
  for (int i = 1; i <= length; ++i) {
    text += fmt::format(
        "%w{0} = parameter f32[64,64]\n%v{0} = mv(%w{0}, %v{1}) : f32[64] "
        "@ \"{2}.block{0}.{2}\"\n",
        i, i - 1, std::string(300, 'm'));
  }
  return ParseGraph(text + fmt::format("output %v{}\n", length));
}

TEST(StepToJson, HasABoundWhateverTheGraph) {
  const auto json = DocumentOf(LongGraph(6000));
  EXPECT_EQ(json["memory_over_step"]["moments"]["operator"].size(), 667U);
  EXPECT_EQ(json["memory_over_step"]["tensors"]["mib"].size(), 500U);
  EXPECT_LE(json["modules"].size(), 800U);
  EXPECT_LT(DumpJson(json, kOneLine).size(), 420'000U);
}

TEST(Clipped, LeavesTheMiddleOut) {
  EXPECT_EQ(Clipped("short"), "short");
  const std::string text = Clipped(std::string(200, 'a') + "z");
  EXPECT_EQ(text, std::string(60, 'a') + "…" + std::string(59, 'a') + "z");
}

TEST(Clipped, CutsBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 100; ++i) name += "ö";
  const std::string text = Clipped(name);
  EXPECT_EQ(nlohmann::json(text).dump(), '"' + text + '"');
  EXPECT_LE(text.size(), kMaxNameBytes + 3);
}

}  // namespace
}  // namespace foretell::pictures
