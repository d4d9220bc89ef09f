#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "src/judge/report.h"

namespace foretell {

/// Version of the JSON document; grows when a field is removed or changes its
/// meaning, not when one is added.
inline constexpr int kReportSchemaVersion = 1;

/// One element of "results"; docs/json_output.md describes every field.
/// Numbers are rounded to six significant digits.
nlohmann::ordered_json ReportToJson(const Report& report);

/// To so many significant digits.
double RoundedForJson(double value, int digits = 6);

/// "columns", "rows", "whole".
nlohmann::ordered_json SharedLayersToJson(const SharedLayerCounts& layers);

/// A figure alone: "value", "interval" and "source".
nlohmann::ordered_json FigureToJson(const Figure& figure);

/// One element of "errors".
nlohmann::ordered_json ReportErrorToJson(const ReportError& error);

/// "errors" of every document.
nlohmann::ordered_json ErrorsToJson(std::span<const ReportError> errors);

/// A whole document: schema_version, results, errors.
nlohmann::ordered_json AnswersToJson(nlohmann::ordered_json results,
                                     std::span<const ReportError> errors);

/// The document of `reports`.
nlohmann::ordered_json ReportsToJson(std::span<const Report> reports,
                                     std::span<const ReportError> errors);

}  // namespace foretell
