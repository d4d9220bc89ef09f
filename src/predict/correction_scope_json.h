#pragma once

#include <nlohmann/json_fwd.hpp>

#include "foretell/correction.h"
#include "src/core/json_object.h"

namespace foretell {

/// The fields of a correction's document that state its scope, except for the
/// run.
nlohmann::ordered_json ScopeToJson(const CorrectionScope& scope);

/// Reads what ScopeToJson writes from the document `root`, of one model or of
/// any. Throws what JsonObject throws.
CorrectionScope ReadScope(JsonObject& root, bool of_one_model);

}  // namespace foretell
