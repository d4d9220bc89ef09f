#pragma once

#include <cstdint>

namespace foretell::measure {

/// Most bytes of host memory that this process had resident, as
/// PeakResidentBytesOf has it.
std::int64_t PeakResidentBytes();

}  // namespace foretell::measure
