#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "foretell/advise.h"
#include "src/judge/report.h"

namespace foretell {

/// A place on which the unchanged step fits.
struct OtherPlace {
  std::string name;  ///< A device, or "MIG profile" of the one that was asked.
  std::int64_t usable_mib = 0;
  double latency_ms = 0;
};

/// What Advise found for one model.
struct AdvisedModel {
  std::string model;  ///< As the user named it.
  std::string place;  ///< As JudgedModel.
  double usable_mib = 0;
  Advice advice;
  std::vector<OtherPlace> elsewhere;  ///< The smallest first.
  /// Of the frontend, the trace and the predictor.
  std::vector<std::string> warnings = {};
};

/// What `advise --json` writes; docs/json_output.md has its fields.
nlohmann::ordered_json AdviceToJson(std::span<const AdvisedModel> advised,
                                    std::span<const ReportError> errors);

}  // namespace foretell
