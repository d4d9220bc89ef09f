#pragma once

#include <string_view>
#include <vector>

#include "foretell/zoo.h"

namespace foretell::zoo {

/// The points of a sweep in JSON (datasets/sweeps/README.md describes it).
/// `file` starts the message of every Error(kCorrupt).
std::vector<SweepPoint> ParseSweep(std::string_view json,
                                   std::string_view file);

/// Family and length of each run of consecutive points of one family, in order.
std::vector<std::pair<std::string, std::int64_t>> CountFamilies(
    std::span<const SweepPoint> points);

}  // namespace foretell::zoo
