#include "src/measure/host_memory.h"

#include <unistd.h>

#include "src/core/resident_memory.h"

namespace foretell::measure {

std::int64_t PeakResidentBytes() { return PeakResidentBytesOf(getpid()); }

}  // namespace foretell::measure
