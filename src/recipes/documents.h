#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace foretell::recipes {

/// Limits of a configuration file; the largest of published ones have a few
/// hundred values.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostLevels = 16;
inline constexpr std::size_t kMostValues = 20'000;

/// The YAML 1.1 document `text` as JSON, as PyYAML's safe_load reads it: yes
/// and off are Booleans, aliases are copies, `<<` merges; numbers without a
/// point before the exponent are numbers as well. In time and memory that
/// kMostValues bounds, whatever the aliases are.
///
/// Throws Error(kCorrupt) that names `origin`, line and column for anything
/// else: other tags, several documents, keys that are not scalars or are given
/// twice, and for exceeding the limits.
nlohmann::json ParseYaml(std::string_view text, const std::string& origin);

/// The TOML document `text` as JSON, in the subset that torchtitan's files use:
/// tables, and keys with scalars or flat arrays. Same errors as ParseYaml,
/// without columns.
nlohmann::json ParseToml(std::string_view text, const std::string& origin);

/// A plain scalar of YAML as a value: null, a Boolean, a number or a string.
nlohmann::json ResolveScalar(const std::string& text);

/// The file at `path`, by its ending (.json, .yaml, .yml, .toml) or, for any
/// other, its first character. Throws what ReadFile and the parsers throw, and
/// Error(kCorrupt) if it is not an object.
nlohmann::json ReadDocument(const std::string& path);

}  // namespace foretell::recipes
