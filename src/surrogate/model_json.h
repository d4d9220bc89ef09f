#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "src/surrogate/fit_model.h"

namespace foretell::surrogate {

/// Version of the document; grows when a field changes its meaning.
inline constexpr int kModelSchemaVersion = 1;

/// The document that `foretell fit --out` writes, docs/fit.md has every field.
std::string FittedToJson(const FittedModel& fitted);
/// Reads what FittedToJson writes, without the front. Throws Error that names
/// `origin`, the field and its value: kCorrupt, and kUnsupported for another
/// version.
FittedModel FittedFromJson(std::string_view json, const std::string& origin);

/// The front of size against error, with the errors on `held_out` rows.
nlohmann::ordered_json FrontToJson(const FittedModel& fitted,
                                   const Table& held_out);

}  // namespace foretell::surrogate
