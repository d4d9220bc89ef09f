#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace foretell {

/// Limits of a document.
struct JsonLimits {
  std::size_t levels = 16;
  std::size_t values = 1'000'000;
  /// Names of fields that are never read: counted but not kept.
  std::span<const std::string_view> dropped = {};
};

/// Parses an untrusted JSON document, in linear time; the only JSON parser of
/// foretell.
///
/// Throws Error(kCorrupt) that names `origin` for a syntax error (as
/// JsonProblem), a duplicate field, and for exceeding `limits`.
nlohmann::json ParseJson(std::string_view text, std::string_view origin,
                         const JsonLimits& limits = {});

/// A syntax error in terms of the file's text: "line 2, column 7: found 'nope',
/// expected a value". `position` and `cause` come from nlohmann's parser: the
/// bytes it has read, and its own message.
std::string JsonProblem(std::string_view text, std::size_t position,
                        std::string_view cause);

/// The value for a message: its JSON in ASCII, cut after 60 bytes.
std::string ShowJson(const nlohmann::json& value);

}  // namespace foretell
