#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace foretell {

/// The part of a module path that names the operator's block; empty if it is in
/// none.
using BlockOf = std::function<std::string(std::string_view scope)>;

/// Blocks whose path from the root is `pattern`, with "*" for any one name.
/// Names end at a dot or a slash; a leading slash is ignored.
BlockOf BlocksOfPath(const std::string& pattern);

/// Blocks whose path ends with its number of order `level`, from 0.
BlockOf BlocksOfNumber(int level);

}  // namespace foretell
