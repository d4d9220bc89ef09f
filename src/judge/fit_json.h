#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "foretell/fit.h"
#include "src/judge/report.h"

namespace foretell {

/// What JudgeFit found for one model.
struct JudgedModel {
  std::string model;  ///< As the user named it.
  std::string place;  ///< Device, and the MIG profile behind it where asked.
  FitVerdict verdict;
  /// Of the frontend, the trace and the predictor.
  std::vector<std::string> warnings = {};
};

/// What LargestBatch found for one model.
struct LargestBatchOfModel {
  std::string model;       ///< As the user named it.
  std::string place;       ///< As JudgedModel.
  std::int64_t batch = 0;  ///< By the upper end; 0: not even batch 1 fits.
  std::int64_t likely_batch = 0;  ///< By the estimate; never below `batch`.
  std::int64_t most = 0;          ///< Where the search ended.
  std::vector<std::string> warnings = {};  ///< Of the prediction for `batch`.
};

/// What `fits --json` writes; docs/json_output.md has its fields.
nlohmann::ordered_json FitsToJson(std::span<const JudgedModel> judged,
                                  std::span<const ReportError> errors);

/// What `max-batch --json` writes; docs/json_output.md has its fields.
nlohmann::ordered_json LargestBatchesToJson(
    std::span<const LargestBatchOfModel> found,
    std::span<const ReportError> errors);

}  // namespace foretell
