#pragma once

#include <cstdint>

namespace foretell::measure {

/// Most bytes of host memory that this process had resident, as
/// PeakResidentBytesOf reports.
std::int64_t PeakResidentBytes();

}  // namespace foretell::measure
