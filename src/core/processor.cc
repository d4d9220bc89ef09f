#include "src/core/processor.h"

#include <fstream>
#include <string_view>

namespace foretell {

std::string ProcessorName() {
  constexpr std::string_view kField = "model name";
  std::ifstream list("/proc/cpuinfo");
  for (std::string line; std::getline(list, line);) {
    if (!line.starts_with(kField)) continue;
    const std::size_t value = line.find_first_not_of(" :\t", kField.size());
    if (value != std::string::npos) return line.substr(value);
  }
  return "CPU";
}

}  // namespace foretell
