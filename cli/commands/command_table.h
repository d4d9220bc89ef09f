#pragma once

#include <string_view>

#include "cli/commands/command.h"

namespace foretell::cli {

/// The two programs. `foretell` predicts; it is built first, so that a fresh
/// clone predicts soon. `foretell-lab` has every subcommand, also those that
/// train, measure and manage datasets; it is built on first use.
enum class Home {
  kForetell,
  kLab,
  /// Both have it; `foretell` runs that of `foretell-lab` if built, because it
  /// depends on the flags of all subcommands.
  kLabIfBuilt,
};

/// A subcommand as one of the programs knows it.
struct CommandRow {
  std::string_view name;
  Home home;
  AddCommand add;  ///< Null in `foretell` where only `foretell-lab` has it.
  /// What `foretell --help` prints for a subcommand that it lacks, as in `add`;
  /// empty: nothing, the subcommand is not for users.
  const char* help = "";
};

/// The one place that states which program has which subcommand, in the order
/// of the help; scripts/foretell also reads it, to know what to build.
template <Home kProgram, bool kInLab = kProgram == Home::kLab>
inline constexpr CommandRow kCommands[] = {
    {"predict", Home::kForetell, &AddPredict},
    {"report", Home::kForetell, &AddReport},
    {"diff", Home::kForetell, &AddDiff},
    {"inspect", Home::kForetell, &AddInspect},
    {"fits", Home::kForetell, &AddFits},
    {"finetune", Home::kForetell, &AddFinetune},
    {"kv-cache", Home::kForetell, &AddKvCache},
    {"max-batch", Home::kForetell, &AddMaxBatch},
    {"advise", Home::kForetell, &AddAdvise},
    {"compare", Home::kForetell, &AddCompare},
    {"classify", Home::kForetell, &AddClassify},
    {"adapt", Home::kForetell, &AddAdapt},
    {"fit", Home::kLab, kInLab ? &AddFit : nullptr,
     "Fit a formula for memory, latency or energy to a table or a sweep"},
    {"calibrate", Home::kLab, kInLab ? &AddCalibrate : nullptr,
     "Correct the memory of one model with a few measured runs of it (for all "
     "models: adapt)"},
    {"calibrate-device", Home::kLab, kInLab ? &AddCalibrateDevice : nullptr,
     "Fit the constants of a GPU and its host to a suite of measured steps"},
    {"plan", Home::kLab, kInLab ? &AddPlan : nullptr,
     "Largest resolution, length, tile or chunk that fits in memory (batch of "
     "a model: max-batch)"},
    {"measure", Home::kLab, kInLab ? &AddMeasure : nullptr,
     "Measure latency, memory and energy of models on a device"},
    {"mig", Home::kForetell, &AddMig},
    {"host", Home::kForetell, &AddHost},
    {"devices", Home::kForetell, &AddDevices},
    {"zoo", Home::kForetell, &AddZoo},
    {"dataset", Home::kLab, kInLab ? &AddDataset : nullptr,
     "Graphs and labels of many networks in one file"},
    {"train", Home::kLab, kInLab ? &AddTrain : nullptr,
     "Train a graph network on the labels of a dataset"},
    {"evaluate", Home::kLab, kInLab ? &AddEvaluate : nullptr,
     "Compare a checkpoint, or the analytic model, with labels"},
    {"compare-networks", Home::kLab, kInLab ? &AddCompareNetworks : nullptr,
     "Train several networks with several seeds on one split"},
    {"cross-validate", Home::kLab, kInLab ? &AddCrossValidate : nullptr,
     "Predict every sample with a network trained without its family, network, "
     "point, device, generation or source"},
    {"memory-classes", Home::kLab, kInLab ? &AddMemoryClasses : nullptr,
     "Classes of training memory by GPUMemNet's networks"},
    {"serve", Home::kLab, kInLab ? &AddServe : nullptr,
     "Serve predictions over HTTP, for schedulers"},
    {"doctor", Home::kForetell, &AddDoctor},
    {"version", Home::kForetell, &AddVersion},
    {"completion", Home::kLabIfBuilt, &AddCompletion},
    {"manual", Home::kLabIfBuilt, &AddManual},
    {"fit-factors", Home::kForetell, &AddFitFactors},
    {"time-operators", Home::kForetell, &AddTimeOperators},
    {"serve-worker", Home::kLab, kInLab ? &AddServeWorker : nullptr},
};

}  // namespace foretell::cli
