#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>

#include "foretell/graph.h"
#include "src/graph/strides.h"
#include "src/graph/text_cursor.h"

namespace foretell {

// Parts of a statement. All throw Error(kCorrupt) with the place in the text.

/// The value of `parsed`, or an error that names what was expected and found.
template <typename T>
T Known(TextCursor& cursor, std::optional<T> parsed, std::string_view what,
        std::string_view found) {
  if (parsed) return *parsed;
  cursor.Fail(fmt::format("unknown {} '{}'", what, found));
}

/// `true`, `2`, `0.5`, `"text"`, `[1, 2]`, `[1.0, 2.5]` or `floats[]`. A list
/// with one floating-point element is a list of floating-point numbers.
Attribute ParseAttribute(TextCursor& cursor);

/// A word, or any text between quotes.
std::string WordOrString(TextCursor& cursor, std::string_view what);

/// `f32[8,3,224,224]`
TensorType ParseType(TextCursor& cursor);

/// `strides=[64, 1]`, or nothing.
Strides ParseStrides(TextCursor& cursor);

/// A role's name; "weight" is short for "parameter". Empty if unknown.
std::optional<TensorRole> ParseRoleWord(std::string_view word);

}  // namespace foretell
