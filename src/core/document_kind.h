#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace foretell {

/// What the JSON documents are that foretell writes or that its users write
/// for it.
enum class DocumentKind {
  kAdaptation,
  kCalibration,
  kDevice,
  kEnvironments,
  kFootprint,
  kFormula,
  kHost,
  kMeasuredEnvironments,
  kMeasurements,
  kStep,
  kAnswers,
};

/// Throws Error(kCorrupt) where `document` is of another kind than `expected`,
/// with the names of both. A document of unknown kind is left to its reader,
/// which reports what is missing.
void RefuseOtherKind(const nlohmann::json& document, const std::string& origin,
                     std::initializer_list<DocumentKind> expected);

}  // namespace foretell
