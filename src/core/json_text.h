#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace foretell {

/// Indentation of a document on a single line.
inline constexpr int kOneLine = -1;

/// Text of a JSON document, without a final line feed, indented by `indent`
/// blanks. It is always valid UTF-8: strings and names of fields become
/// Printable (printable.h).
std::string DumpJson(nlohmann::ordered_json json, int indent = 2);

/// `value` as a JSON number; null if it is infinite or NaN.
nlohmann::ordered_json JsonNumber(double value);

}  // namespace foretell
