#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace foretell {

/// What a document may be.
struct JsonLimits {
  std::size_t levels = 16;
  std::size_t values = 1'000'000;
  /// Names of fields that are never read: they are counted and not kept.
  std::span<const std::string_view> dropped = {};
};

/// Parses an untrusted JSON document: the one place where foretell does. Needs
/// time in proportion to the text.
///
/// Throws Error(kCorrupt) that names `origin` for a syntax error (as
/// JsonProblem), a field that is given twice, and what exceeds `limits`.
nlohmann::json ParseJson(std::string_view text, std::string_view origin,
                         const JsonLimits& limits = {});

/// A syntax error in terms of the file's text: "line 2, column 7: found
/// 'nope', expected a value". `position` and `cause` are what nlohmann's parser
/// gives: the bytes it has read, and its own message.
std::string JsonProblem(std::string_view text, std::size_t position,
                        std::string_view cause);

/// The value as a message shows it: its JSON in ASCII, cut after 60 bytes.
std::string ShowJson(const nlohmann::json& value);

}  // namespace foretell
