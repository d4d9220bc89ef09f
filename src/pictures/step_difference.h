#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace foretell::pictures {

/// Checks that `document` is one of StepToJson, as written by `foretell report
/// --json`, in the parts that DifferenceToJson reads. Throws Error(kCorrupt)
/// that names `origin` and the field.
void CheckStep(const nlohmann::ordered_json& document,
               const std::string& origin);

/// What changed from step `a` to step `b`, both documents of StepToJson:
/// "schema_version", the answers "a" and "b", "figures" (parameters, MACs,
/// operators, memory and its parts, latency, energy) and those "modules" that
/// differ, the ones with the largest change of time first; a module missing in
/// one of them is null there. docs/json_output.md has the fields.
nlohmann::ordered_json DifferenceToJson(const nlohmann::ordered_json& a,
                                        const nlohmann::ordered_json& b);

}  // namespace foretell::pictures
