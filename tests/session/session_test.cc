#include "foretell/session.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/zoo.h"
#include "tests/datasets/expect_error.h"

namespace foretell {
namespace {

using dataset_test::ExpectError;

constexpr char kModel[] = "zoo:mlp?inputs=64";

const DeviceSpec& Device() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

TEST(Session, TracesItsStepOnce) {
  Session session(kModel, {.inputs = {.batch = 8}});
  const Trace& first = session.Step();
  EXPECT_EQ(first.graph.info().batch, 8);
  EXPECT_EQ(&session.Step(), &first);
}

TEST(Session, TracesStepsThatDiffer) {
  const Session session(kModel, {.inputs = {.batch = 8}});
  const Trace training = session.StepWith(
      {.batch = 4, .run = foretell::Run{.mode = Mode::kTraining}});
  EXPECT_EQ(training.graph.info().batch, 4);
  EXPECT_EQ(training.graph.info().mode, Mode::kTraining);
  EXPECT_EQ(session.Graph().info().batch, 8);
}

TEST(Session, WarnsOfAnOpenBatch) {
  const Session session(kModel);
  const Trace open = session.StepWith({});
  EXPECT_EQ(open.graph.info().batch, 1);
  ASSERT_EQ(open.warnings.size(), 1u);
  EXPECT_TRUE(open.warnings[0].starts_with("batch 1: "));
  EXPECT_TRUE(session.StepWith({.batch = 1}).warnings.empty());
}

// The five functions that it stands for.
TEST(Session, PredictsWhatThePartsDo) {
  const foretell::Run run = {.autocast = true};
  Session session("zoo:resnet18",
                  {.inputs = {.batch = 2}, .options = {.run = run}});
  const Prediction prediction = session.Predict(Device());
  const Trace trace = TraceProgram(
      session.program(),
      BindInputs(session.program().inputs(), {.batch = 2}, "resnet18"),
      {.run = {.autocast = true}});
  const Prediction parts = Predictor::Make(Device(), run).Predict(trace.graph);
  for (const Target target : kAllTargets) {
    EXPECT_EQ(prediction[target].value, parts[target].value);
  }
}

TEST(Session, AnswersWithAPlace) {
  Session session(kModel, {.inputs = {.batch = 1}});
  const Answer answer = session.Ask(Predictor::Make(Device(), foretell::Run{}));
  EXPECT_EQ(answer.placement.profile, "1g.5gb");
  EXPECT_EQ(answer.placement.model, session.program().name());
}

TEST(Session, OpensFilesInASandbox) {
  Session session(FORETELL_SOURCE_DIR "/examples/resnet18.onnx",
                  {.inputs = {.batch = 2}});
  EXPECT_EQ(session.Step().graph.info().batch, 2);
  ExpectError(ErrorCode::kUnsupported, "is open in a sandbox",
              [&] { session.program().Instantiate({}); });
}

TEST(Session, NamesAModelThatIsMissing) {
  ExpectError(ErrorCode::kNotFound, "nowhere.onnx",
              [] { Session("nowhere.onnx"); });
  ExpectError(ErrorCode::kNotFound, "no_such_network",
              [] { Session("zoo:no_such_network"); });
}

PassPlan PlanWith(RunKind kind, const StepRequest& other,
                  std::vector<std::size_t> order) {
  PassPlan plan{.kind = kind, .label = "own", .order = std::move(order)};
  plan.others.push_back({"other", zoo::Load(kModel), other});
  return plan;
}

TEST(Session, PredictsNetworksOfOneProcess) {
  const StepRequest request = {.inputs = {.batch = 8}};
  Session session(kModel, request);
  const Prediction alone = session.Predict(Device());
  session.RunInTurn(PlanWith(RunKind::kNetworks, request, {0, 1}));
  const Prediction both = session.Predict(Device());
  EXPECT_EQ(both.memory.AtPeak(TensorRole::kParameter),
            2 * alone.memory.AtPeak(TensorRole::kParameter));
  EXPECT_DOUBLE_EQ(both[Target::kLatency].value,
                   2 * alone[Target::kLatency].value);
}

TEST(Session, PredictsAnEvaluationBetweenItsSteps) {
  const foretell::Run training = {.mode = Mode::kTraining};
  Session session(kModel, {.inputs = {.batch = 1}, .options = {training}});
  const Prediction alone = session.Predict(Device());
  session.RunInTurn(
      PlanWith(RunKind::kEvaluation, {.inputs = {.batch = 1'000'000}}, {0, 1}));
  const Prediction evaluated = session.Predict(Device());
  EXPECT_EQ(evaluated.memory.peak_pass, 1u);
  EXPECT_EQ(evaluated.memory.AtPeak(TensorRole::kParameter),
            alone.memory.AtPeak(TensorRole::kParameter));
  EXPECT_DOUBLE_EQ(evaluated[Target::kLatency].value,
                   alone[Target::kLatency].value);
}

std::int64_t BatchOfOther(RunKind kind) {
  const foretell::Run training = {.mode = Mode::kTraining};
  Session session(kModel, {.inputs = {.batch = 4}, .options = {training}});
  session.RunInTurn(PlanWith(kind, {.inputs = {.batch = 4}}, {0, 1}));
  Session larger = session.With({.batch = 16});
  EXPECT_EQ(larger.Step().graph.info().batch, 16);
  EXPECT_EQ(session.Step().graph.info().batch, 4);
  return larger.StepOfPass(1).graph.info().batch;
}

TEST(Session, OtherNetworksFollowItsBatchAndAnEvaluationKeepsItsOwn) {
  EXPECT_EQ(BatchOfOther(RunKind::kNetworks), 16);
  EXPECT_EQ(BatchOfOther(RunKind::kEvaluation), 4);
}

TEST(Session, OtherPassesKeepTheirMode) {
  const foretell::Run training = {.mode = Mode::kTraining};
  Session session(kModel, {.inputs = {.batch = 4}, .options = {training}});
  session.RunInTurn(
      PlanWith(RunKind::kNetworks, {.inputs = {.batch = 4}}, {0, 1}));
  Session cast =
      session.With({.run = foretell::Run{.mode = Mode::kTraining,
                                         .precision = Precision::kBf16},
                    .loop = TrainingLoop{.optimizer_in_backward = true}});
  const GraphInfo& other = cast.StepOfPass(1).graph.info();
  EXPECT_EQ(other.mode, Mode::kInference);
  EXPECT_EQ(other.precision, Precision::kBf16);
  // As alone: the loop of the trained step is not the other's.
  Session alone(kModel, {.inputs = {.batch = 4},
                         .options = {{.precision = Precision::kBf16}}});
  EXPECT_EQ(cast.StepOfPass(1).graph.nodes().size(),
            alone.Step().graph.nodes().size());
}

}  // namespace
}  // namespace foretell
