#pragma once

#include <string>
#include <string_view>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Major version of the schema that is read, and the newest minor one that it
/// was written for.
inline constexpr std::int64_t kSchemaMajor = 8;
inline constexpr std::int64_t kSchemaMinor = 20;

/// The model that the text of a `models/NAME.json` describes. The symbol of the
/// leading dimension of the first tensor that the user gives is called "batch".
/// Throws Error that begins with `origin`: kCorrupt (no such text),
/// kUnsupported (another major version).
Model ReadModel(std::string_view text, const std::string& origin);

}  // namespace foretell::exported
