#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace foretell {

/// Parses a JSON document of anybody: the one place where foretell does. Takes
/// time in proportion to the text.
///
/// Throws Error(kCorrupt) that names `origin` for a syntax error, a field that
/// is given twice, nesting beyond 16 levels, or more than a million values.
nlohmann::json ParseJson(std::string_view text, std::string_view origin);

/// The value as a message shows it: its JSON in ASCII, cut after 60 bytes.
std::string ShowJson(const nlohmann::json& value);

}  // namespace foretell
