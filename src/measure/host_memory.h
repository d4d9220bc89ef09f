#pragma once

#include <cstdint>

namespace foretell::measure {

/// Most bytes of host memory that this process had resident since it was forked
/// or executed; 0 where Linux does not tell. (getrusage's figure would count all
/// of its parent's at the fork too.)
std::int64_t PeakResidentBytes();

}  // namespace foretell::measure
