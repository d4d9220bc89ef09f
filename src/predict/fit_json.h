#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "foretell/fit.h"
#include "src/predict/report.h"

namespace foretell {

/// What JudgeFit found for one model.
struct JudgedModel {
  std::string model;  ///< As the user named it.
  std::string place;  ///< Device, and the MIG profile behind it where asked.
  FitVerdict verdict;
};

/// What `fits --json` writes; docs/json_output.md has its fields.
nlohmann::ordered_json FitsToJson(std::span<const JudgedModel> judged,
                                  std::span<const ReportError> errors);

}  // namespace foretell
