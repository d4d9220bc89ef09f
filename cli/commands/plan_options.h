#pragma once

#include <cstdint>
#include <string>

#include "cli/commands/exit_code.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"

namespace foretell::cli {

/// Flags of `plan`.
struct PlanOptions {
  ModelOptions
      model;  ///< Its only name, where there is one, is what is planned.
  PredictorFlags predictor;
  std::string memory;
  double margin = 0.1;  ///< Share of the memory that stays free.
  std::string axis = "batch";
  std::int64_t batch = 0;  ///< 0: as the file says.
  std::int64_t step = 0;   ///< Of the axis; 0: by the axis.
  std::int64_t limit = 65536;
  bool json = false;

  /// Bytes of --memory. Throws what ParseMemorySize throws.
  std::int64_t memory_bytes() const;
};

/// The largest value of --axis for which a model's step fits.
ExitCode PlanModel(const PlanOptions& options);

}  // namespace foretell::cli
