#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "src/features/term_probe.h"
#include "src/network/checkpoint.h"
#include "tests/answer/own_checkpoint.h"
#include "tests/cost/test_device.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"

namespace foretell {
namespace {

using dataset_test::ExpectError;
using test::A100;
using testing::HasSubstr;

constexpr char kFirst[] =
    FORETELL_SOURCE_DIR "/tests/golden/checkpoint/first.safetensors";
constexpr char kText[] = R"(graph "g" batch=64
%x = input f32[64,3,224,224]
%a = conv2d(%x, weight f32[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f32[64,64,112,112]
%b = relu(%a) : f32[64,64,112,112]
output %b
)";

TEST(MakePredictor, TakesEachFigureFromWhereItIsKnown) {
  const dataset_test::Scratch scratch;
  const std::string own_file = scratch / "own.safetensors";
  answer_test::WriteOwnCheckpoint(own_file, 8);
  const OperatorGraph graph = ParseGraph(kText);
  const Prediction analytic =
      Predictor::Make(A100(), {}, {.method = Method::kAnalytic}).Predict(graph);
  const Prediction own =
      Predictor::Make(A100(), {}, {.checkpoints = {own_file}}).Predict(graph);
  for (const Target target : {Target::kMemory, Target::kLatency}) {
    EXPECT_EQ(analytic[target].source.method, "analytic, uncalibrated");
    EXPECT_EQ(own[target].source.method, "learned from test");
    EXPECT_NE(own[target].value, analytic[target].value);
  }
  EXPECT_FALSE(own[Target::kEnergy].source.IsLearned());
  // Energy at the analytic power over the learned latency.
  EXPECT_NEAR(
      own[Target::kEnergy].value / own[Target::kLatency].value,
      analytic[Target::kEnergy].value / analytic[Target::kLatency].value, 1e-9);
  EXPECT_THAT(own[Target::kLatency].warnings,
              testing::ElementsAre(HasSubstr("has no interval")));
  // The parts stay those of the simulation.
  EXPECT_EQ(own.memory.total, analytic.memory.total);
}

TEST(MakePredictor, LeavesAnalyticWhatACheckpointCannotKnow) {
  // Its inputs were scaled for numbers of 1 to 3; this graph has 4e10 MACs.
  const Prediction own = Predictor::Make(A100(), {}, {.checkpoints = {kFirst}})
                             .Predict(ParseGraph(kText));
  EXPECT_EQ(own.Method(), "analytic, uncalibrated");
  EXPECT_THAT(own.AllWarnings(),
              testing::Contains(HasSubstr("unlike those learned from")));
}

TEST(MakePredictor, WarnsWhereANetworkDoesNotKnowOfGradMode) {
  const auto warnings = [](const std::string& text) {
    return Predictor::Make(A100(), {}, {.checkpoints = {kFirst}})
        .Predict(ParseGraph(text))
        .warnings;
  };
  std::string recorded = kText;
  recorded.replace(recorded.find('\n'), 0, " grad=on");
  EXPECT_THAT(warnings(recorded),
              testing::Contains(HasSubstr("does not tell runs in grad mode")));
  EXPECT_THAT(warnings(kText),
              testing::Not(testing::Contains(HasSubstr("grad mode"))));
}

TEST(MakePredictor, WarnsOfANetworkThatWasTrainedOnOtherTerms) {
  const dataset_test::Scratch scratch;
  learned::Checkpoint checkpoint = learned::ReadCheckpoint(
      FORETELL_SOURCE_DIR
      "/data/predictors/latency-autocast-portable.safetensors");
  const auto warnings = [&](double slower) {
    checkpoint.info.probe =
        learned::ProbeTerms(checkpoint.info.recipe, checkpoint.info.devices);
    checkpoint.info.probe->amounts.front() *= slower;
    const std::string file = scratch / "drifted.safetensors";
    std::ofstream(file, std::ios::binary)
        << learned::SerializeCheckpoint(checkpoint);
    return Predictor::Make(A100(), {}, {.checkpoints = {file}})
        .Predict(ParseGraph(kText))
        .warnings;
  };
  EXPECT_THAT(warnings(1.1),
              testing::Contains(HasSubstr("trained on other terms")));
  EXPECT_THAT(warnings(1),
              testing::Not(testing::Contains(HasSubstr("other terms"))));
}

TEST(MakePredictor, StatesTheRunWithTheStepOfTheGraph) {
  const Predictor predictor =
      Predictor::Make(A100(), {.mode = Mode::kTraining, .host = Host::kCpp});
  std::string text = kText;
  text.replace(text.find("batch"), 0, "channels_last=on ");
  const Prediction prediction = predictor.Predict(ParseGraph(text));
  EXPECT_EQ(predictor.run().mode, Mode::kTraining);
  EXPECT_EQ(prediction.run.mode, Mode::kInference);
  EXPECT_TRUE(prediction.run.channels_last);
  EXPECT_EQ(prediction.run.host, Host::kCpp);
}

TEST(MakePredictor, RejectsAGraphWithoutTheFormatOfTheRun) {
  const Predictor predictor = Predictor::Make(A100(), {.channels_last = true});
  ExpectError(ErrorCode::kInvalidArgument,
              "the run is channels-last, graph 'g' was traced without: set "
              "TraceOptions::run.channels_last",
              [&] { predictor.Predict(ParseGraph(kText)); });
}

TEST(MakePredictor, RejectsAGraphWithoutTheAutocastOfTheRun) {
  const Predictor predictor = Predictor::Make(A100(), {.autocast = true});
  ExpectError(ErrorCode::kInvalidArgument,
              "graph 'g' was traced without: set TraceOptions::run.autocast",
              [&] { predictor.Predict(ParseGraph(kText)); });
}

TEST(MakePredictor, ListsGeneralWarningsFirst) {
  std::string text = kText;
  text.replace(text.find("batch"), 0, "autocast=f16 ");
  text.replace(text.find("output"), std::string::npos,
               "%c = frobnicate(%b) : f32[64,64,112,112]\noutput %c\n");
  const Prediction prediction =
      Predictor::Make(A100(), {.autocast = true}, {.method = Method::kLearned})
          .Predict(ParseGraph(text));
  const std::vector<std::string>& of_latency =
      prediction[Target::kLatency].warnings;
  ASSERT_FALSE(of_latency.empty());
  const std::vector<std::string> all = prediction.AllWarnings();
  ASSERT_GE(all.size(), 2);
  EXPECT_THAT(all.front(), HasSubstr("frobnicate"));
  EXPECT_EQ(all.back(), of_latency.back());
}

TEST(MakePredictor, RefusesCheckpointsItCannotUse) {
  ExpectError(ErrorCode::kInvalidArgument, "both predict memory", [] {
    Predictor::Make(A100(), {}, {.checkpoints = {kFirst, kFirst}});
  });
  ExpectError(ErrorCode::kNotFound, "/nowhere/x.safetensors", [] {
    Predictor::Make(A100(), {}, {.checkpoints = {"/nowhere/x.safetensors"}});
  });
}

TEST(MakePredictor, TakesTheCataloguesContextUnlessOneIsGiven) {
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  catalog.AddContexts(R"({"environments": [{"name": "mine", "description": "x",
      "context_mib": {"*": 123}, "context_uncertainty_mib": 1, "source": "x",
      "default": true}]})",
                      "mine.json");
  EXPECT_EQ(Predictor::Make(A100(), {}).context().name, "cuda13");
  EXPECT_EQ(Predictor::Make(A100(), {}, {.catalog = &catalog}).context().name,
            "mine");
  EXPECT_EQ(Predictor::Make(A100(), {},
                            {.context = catalog.FindContext("cuda11.6-eager"),
                             .catalog = &catalog})
                .context()
                .name,
            "cuda11.6-eager");
}

}  // namespace
}  // namespace foretell
