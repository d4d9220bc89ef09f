#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/recipes/formats.h"

namespace foretell::recipes {

/// Whether `text` is `pattern`, in which '*' is any text.
bool Matches(std::string_view pattern, std::string_view text);

/// The words of a list separated by blanks.
std::vector<std::string_view> WordsIn(std::string_view list);

/// What the value of a key says.
struct KeyValue {
  std::string text;          ///< The setting; empty: unset.
  bool is_left_out = false;  ///< All of it, or one of its words.
};

/// `value` as row.kind and row.values convert it. Not for kDeepSpeed. `place`
/// is "file: key". Throws Error(kCorrupt) that names it, the value and what was
/// expected for another type, and kUnsupported for a value that row.values
/// does not have.
KeyValue ConvertValue(const KeyRow& row, const nlohmann::json& value,
                      const std::string& place);

/// The value for a message and for left_out: strings without quotes, all of it
/// printable and cut after 60 bytes.
std::string ShowValue(const nlohmann::json& value);

}  // namespace foretell::recipes
