#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace foretell {

/// Kinds of JSON documents that foretell reads or writes.
enum class DocumentKind {
  kCorrection,
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

/// Throws Error(kCorrupt) that names both kinds if `document` is not of kind
/// `expected`. Accepts a document of unknown kind; its reader reports missing
/// fields.
void RefuseOtherKind(const nlohmann::json& document, const std::string& origin,
                     std::initializer_list<DocumentKind> expected);

}  // namespace foretell
