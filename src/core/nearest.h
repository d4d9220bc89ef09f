#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// The `count` of the `known` names that `name` may have been meant to be, the
/// likeliest first: those that go on where `name` ends, then by the letters
/// that differ (Levenshtein's distance), whatever their case.
std::vector<std::string> Nearest(std::string_view name,
                                 std::span<const std::string> known,
                                 std::size_t count = 3);

}  // namespace foretell
