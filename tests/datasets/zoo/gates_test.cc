// Every stock network in both modes before every gate: by the word of a network
// none passes what cannot run, and all choose the same MIG profile.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "foretell/fit.h"
#include "foretell/predictor.h"
#include "src/answer/least_figures.h"
#include "src/core/units.h"
#include "tests/answer/own_checkpoint.h"
#include "tests/datasets/scratch.h"
#include "tests/datasets/zoo/trace_network.h"

namespace foretell {
namespace {

using zoo_test::TraceNetwork;

/// A network of one's own that says about 1,100 MiB of everything.
const std::string& OwnFile() {
  static const dataset_test::Scratch scratch;
  static const std::string path = [] {
    std::string file = scratch / "own.safetensors";
    answer_test::WriteOwnCheckpoint(file, 7);
    return file;
  }();
  return path;
}

const DeviceSpec& Device() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

/// Parameters, inputs and the CUDA context but for cuDNN's kernels, in MiB.
double ArithmeticMib(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    const bool counts = storage.role == TensorRole::kParameter ||
                        storage.role == TensorRole::kInput;
    if (counts) bytes += storage.bytes;
  }
  const ContextModel& context = DeviceCatalog::BuiltIn().DefaultContext();
  return ToMiB(bytes) + context.ContextMib(Device()) - context.cudnn_mib;
}

/// A device with less memory, whatever else.
DeviceSpec WithUsable(double mib) {
  DeviceSpec device = Device();
  device.usable_mib = static_cast<std::int64_t>(mib);
  return device;
}

void ExpectSound(const Prediction& learned, const Prediction& analytic,
                 const OperatorGraph& graph) {
  const double arithmetic = ArithmeticMib(graph);
  const Figure& memory = learned[Target::kMemory];
  EXPECT_GE(memory.value, arithmetic);
  EXPECT_GE(memory.interval.hi, memory.value);
  EXPECT_LE(memory.interval.lo, memory.value);
  EXPECT_GE(memory.value, analytic.LeastMib() - 1e-6);
  EXPECT_GE(learned.LeastMib(), analytic.LeastMib() - 1e-6);
  const MemoryOptions options = {.device = Device()};
  const cost::LaunchedStep step = cost::LaunchStep(graph, {.run = learned.run});
  LeastFigures least(graph, step, options, analytic.memory);
  for (const Target target : {Target::kLatency, Target::kEnergy}) {
    EXPECT_GE(learned[target].value, least.Of(target)) << TargetName(target);
  }
  const auto judge = [&learned](double mib) {
    return JudgeFit(learned, WithUsable(mib), {.tight = true});
  };
  EXPECT_FALSE(judge(arithmetic - 1).fits);
  EXPECT_TRUE(judge(memory.interval.hi + 1).fits);
}

/// Empty: none.
std::string SmallestThatFits(const Prediction& prediction) {
  std::string smallest;
  double usable_mib = std::numeric_limits<double>::infinity();
  for (const MigProfile& profile : Device().mig_profiles) {
    if (profile.media_extensions) continue;
    const auto usable = static_cast<double>(profile.usable_mib);
    if (usable >= usable_mib) continue;
    if (!JudgeFit(prediction, Device(), {.profile = profile.name}).fits) {
      continue;
    }
    smallest = profile.name;
    usable_mib = usable;
  }
  return smallest;
}

void ExpectOneChoice(const Prediction& prediction) {
  const mig::Demand demand = ToDemand(prediction, "net");
  const std::string smallest = SmallestThatFits(prediction);
  EXPECT_EQ(mig::Recommend(demand, Device()).profile.value_or(""), smallest);
  const std::vector<mig::Job> jobs = {mig::ToJob(demand)};
  const mig::Packing packing = mig::Pack(jobs, Device());
  EXPECT_EQ(packing.fits, !smallest.empty());
  if (!packing.fits) return;
  EXPECT_EQ(packing.instances[0].profile, smallest);
}

class GatesOfZoo : public testing::TestWithParam<std::string> {};

TEST_P(GatesOfZoo, AgreeByEveryMethod) {
  const std::vector<PredictorOptions> asked = {{.method = Method::kAuto},
                                               {.method = Method::kLearned},
                                               {.method = Method::kPmgns},
                                               {.checkpoints = {OwnFile()}}};
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    SCOPED_TRACE(ModeName(mode));
    const OperatorGraph graph = TraceNetwork(GetParam(), 2, mode).graph;
    const foretell::Run run = {.mode = mode};
    const Prediction analytic =
        Predictor::Analytic(Device(), run).Predict(graph);
    for (const PredictorOptions& options : asked) {
      SCOPED_TRACE(options.checkpoints.empty() ? MethodName(options.method)
                                               : "checkpoint");
      const Prediction prediction =
          Predictor::Make(Device(), run, options).Predict(graph);
      ExpectSound(prediction, analytic, graph);
      ExpectOneChoice(prediction);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, GatesOfZoo, testing::ValuesIn(zoo::Names()));

}  // namespace
}  // namespace foretell
