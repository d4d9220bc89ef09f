#include <array>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/error.h"
#include "foretell/features.h"
#include "foretell/graph_io.h"
#include "foretell/mig.h"
#include "foretell/parallel.h"
#include "foretell/predictor.h"
#include "src/core/json_text.h"
#include "src/features/terms.h"
#include "src/judge/report.h"
#include "src/judge/report_json.h"
#include "src/parallel/parallelize.h"
#include "src/pictures/step_json.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/promises.h"

namespace foretell::fuzz {
namespace {

constexpr std::string_view kOrigin = "input";

/// Runs that between them take every way from operators to kernels; autocast
/// and channels-last are those of the graph.
std::array<Run, 3> Runs() {
  return {
      Run{},
      Run{.precision = Precision::kFp16, .torch = {.major = 1, .minor = 11}},
      Run{.torch = {.major = 2, .minor = 9}, .restore_folded_norms = true}};
}

const DeviceSpec& Device() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

std::vector<Predictor> MakePredictors() {
  std::vector<Predictor> predictors;
  for (const Run& run : Runs()) {
    predictors.push_back(Predictor::Analytic(Device(), run));
  }
  return predictors;
}

/// Runs `use`, which may refuse the graph in one line.
template <typename Use>
void MayRefuse(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    RequireGoodMessage(error, "");
  }
}

/// What `predict` and `report` say of the graph.
void Predict(const OperatorGraph& graph, const Predictor& predictor) {
  Prediction prediction = predictor.Predict(graph);
  mig::Recommendation recommendation =
      mig::Recommend(ToDemand(prediction, "m"), Device());
  const Report report =
      MakeReport({.name = "m", .format = "graph"}, graph, std::move(prediction),
                 std::move(recommendation));
  DumpJson(ReportToJson(report));
  DumpJson(pictures::StepToJson(report, graph, Device()));
}

/// What networks see of the graph.
void MakeAllTerms(const OperatorGraph& graph, const Predictor& predictor) {
  ExtractFeatures(graph);
  const Run run = RunOf(graph.info(), predictor.run());
  const learned::TermContext context = {
      .device = Device(), .run = run, .context = predictor.context()};
  for (const learned::TermSetRow& row : learned::kTermSets) {
    row.make(graph, context);
  }
}

/// Storages of parameters and gradients in their order: an honest step has as
/// many of both, a lying one gives anything.
std::vector<parallel::TrainedParameter> TrainedOf(const OperatorGraph& graph) {
  std::vector<parallel::TrainedParameter> trained;
  std::vector<StorageId> gradients;
  for (StorageId id = 0; id < std::ssize(graph.storages()); ++id) {
    const TensorRole role = graph.storage(id).role;
    if (role == TensorRole::kParameter) trained.push_back({.parameter = id});
    if (role == TensorRole::kGradient) gradients.push_back(id);
  }
  trained.resize(std::min(trained.size(), gradients.size()));
  for (std::size_t i = 0; i < trained.size(); ++i) {
    trained[i].gradient = gradients[i];
  }
  return trained;
}

constexpr Target kStepTargets[] = {{"graph_step", &PredictGraphText}};

}  // namespace

std::span<const Target> StepTargets() { return kStepTargets; }

void PredictGraphText(std::string_view text) {
  static const std::vector<Predictor> predictors = MakePredictors();
  try {
    const OperatorGraph graph = ParseGraph(text, kOrigin);
    for (const Predictor& predictor : predictors) {
      MayRefuse([&] { Predict(graph, predictor); });
    }
    MayRefuse([&] { MakeAllTerms(graph, predictors.back()); });
    for (const char* const plan :
         {"ddp:2", "zero1:2,bucket-view", "fsdp:4",
          "fsdp1:4,fp32-shards,reentrant", "fsdp:2,cpu-offload",
          "hsdp:2x2,reduce=bf16", "tp:2", "tp:2,vocabulary", "ep:2",
          "ep:2+fsdp:2", "ep:2+zero2:1"}) {
      MayRefuse([&] {
        parallel::Parallelize(graph, ParseParallel("plan", plan),
                              TrainedOf(graph));
      });
    }
  } catch (const Error& error) {
    RequireGoodMessage(error, "input:");
  }
}

}  // namespace foretell::fuzz
