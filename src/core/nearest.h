#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// At most `count` of the `known` names as likely corrections of `name`, the
/// likeliest first: those that begin with `name`, then by Levenshtein distance,
/// ignoring case. Names that differ in more than a third of their letters are
/// left out, unless `name` begins with them.
std::vector<std::string> Nearest(std::string_view name,
                                 std::span<const std::string> known,
                                 std::size_t count = 3);

}  // namespace foretell
