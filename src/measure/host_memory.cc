#include "src/measure/host_memory.h"

#include <charconv>
#include <fstream>
#include <string>

#include "src/core/units.h"

namespace foretell::measure {

std::int64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    std::int64_t kib = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    return kib * kKiB;
  }
  return 0;
}

}  // namespace foretell::measure
