#include "src/core/document_kind.h"

#include <algorithm>
#include <vector>

#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell {
namespace {

/// A kind by fields that no kind above it has together.
struct KindRow {
  DocumentKind kind;
  const char* name;
  std::vector<const char*> fields;
};

const std::vector<KindRow>& KindRows() {
  using enum DocumentKind;
  static const std::vector<KindRow> rows = {
      {kCorrection, "an adaptation of `foretell adapt`", {"networks", "host"}},
      {kCorrection, "a calibration of `foretell calibrate`", {"gap_mib"}},
      {kDevice, "a device", {"compute_capability", "sms"}},
      {kMeasuredEnvironments,
       "environments of `foretell measure`",
       {"schema_version", "environments"}},
      {kEnvironments, "environments for a device", {"environments"}},
      {kFootprint, "a footprint of `foretell plan`", {"algorithm", "terms"}},
      {kFormula, "a formula of `foretell fit`", {"columns", "model"}},
      {kHost, "a host of `foretell host`", {"factor", "spread"}},
      {kMeasurements, "measurements of `foretell measure`", {"measurements"}},
      {kStep, "a document of `foretell report`", {"modules", "kernels"}},
      {kAnswers, "answers of a command with --json", {"results", "errors"}},
  };
  return rows;
}

bool IsOf(const KindRow& row, const nlohmann::json& document) {
  return std::ranges::all_of(row.fields, [&document](const char* field) {
    return document.contains(field);
  });
}

std::string NamesOf(std::initializer_list<DocumentKind> kinds) {
  std::vector<std::string> names;
  for (const KindRow& row : KindRows()) {
    if (std::ranges::count(kinds, row.kind) > 0) names.emplace_back(row.name);
  }
  return Joined(names, " or ");
}

}  // namespace

void RefuseOtherKind(const nlohmann::json& document, const std::string& origin,
                     std::initializer_list<DocumentKind> expected) {
  const auto found = std::ranges::find_if(
      KindRows(),
      [&document](const KindRow& row) { return IsOf(row, document); });
  if (found == KindRows().end()) return;
  if (std::ranges::count(expected, found->kind) > 0) return;
  throw Corrupt("{}: is {}, expected {}", origin, found->name,
                NamesOf(expected));
}

}  // namespace foretell
