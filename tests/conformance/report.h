#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "tests/conformance/outcome.h"

namespace foretell::conformance {

/// Cases per outcome.
using Tally = std::map<Outcome, int>;

/// Tallies by group, and of everything under "total".
std::map<std::string, Tally> TallyByGroup(std::span<const CaseResult> results);

/// {"summary": {group: {outcome: number}}, "cases": [...]}.
nlohmann::json ReportJson(std::span<const CaseResult> results);

/// Prints every wrong and failed case with its message, refused cases and
/// errata gathered by message, and a table of the tallies.
void PrintReport(std::span<const CaseResult> results, std::ostream& out);

/// Why the run does not count as a success, one line; empty when it does: no
/// case wrong, none failed and at least `min_pass` passes.
std::string FailureOf(std::span<const CaseResult> results, int min_pass);

}  // namespace foretell::conformance
