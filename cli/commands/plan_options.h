#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"

namespace foretell::cli {

/// Flags of `plan`.
struct PlanOptions {
  ModelOptions model;  ///< Names what is planned as its only model; empty with
                       ///< --footprint alone.
  PredictorFlags predictor;
  std::string memory;
  double margin = 0.1;  ///< Share of the memory to leave free.
  std::string axis = "batch";
  std::int64_t batch = 0;  ///< 0: as the file has it.
  std::int64_t step = 0;   ///< Of the axis; 0: by the axis.
  std::int64_t limit = 65536;
  std::vector<std::int64_t> shape;  ///< Of a volume; empty: a model is planned.
  std::string dtype;
  std::vector<std::int64_t> align;
  std::vector<std::int64_t> halo;  ///< One for all axes, or one per axis.
  std::vector<std::string> whole;
  std::vector<std::string> arrays;  ///< Axes of each, as "m,k".
  std::string footprint;  ///< File; empty: one that is built in, or learned.
  std::string run;        ///< Command to learn a footprint from; empty: none.
  std::string axes;       ///< Of the blocks that it is run on.
  int runs = 12;
  double deadline_s = 600;  ///< Of a run.
  std::uint64_t seed = 0;
  std::string out;
  std::string note;
  bool json = false;

  /// The algorithm or the model; empty if none is named.
  std::string what() const {
    return model.models.empty() ? "" : model.models.front();
  }
  /// Bytes of --memory. Throws what ParseMemorySize throws, and
  /// Error(kInvalidArgument) if --memory is missing.
  std::int64_t memory_bytes() const;
};

/// Prints the largest value of --axis for which a model's step fits.
ExitCode PlanModel(const PlanOptions& options);

/// Learns a footprint from runs of --run and stores it in --out. Prints the
/// chunks for --shape, or, without one, the footprint.
ExitCode PlanByRuns(const PlanOptions& options);

/// Prints the largest chunk of --shape that fits, by a built-in or stored
/// footprint.
ExitCode PlanVolume(const PlanOptions& options);

}  // namespace foretell::cli
