#include "src/measure/host_memory.h"

#include <fstream>
#include <string>

#include "src/core/parse_number.h"
#include "src/core/units.h"

namespace foretell::measure {

std::int64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    std::string_view text = std::string_view(line).substr(digits);
    return TakeNumber<std::int64_t>(text).value_or(0) * kKiB;
  }
  return 0;
}

}  // namespace foretell::measure
