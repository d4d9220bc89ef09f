#include "src/core/resident_memory.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "src/core/parse_number.h"
#include "src/core/units.h"

namespace foretell {
namespace {

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::ifstream list(
      fmt::format("/proc/{}/task/{}/children", process, process));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

}  // namespace

std::int64_t PeakResidentBytesOf(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    std::string_view text = std::string_view(line).substr(digits);
    return TakeNumber<std::int64_t>(text).value_or(0) * kKiB;
  }
  return 0;
}

std::int64_t OwnResidentBytes() {
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> shared;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

std::vector<pid_t> ProcessTree(pid_t root) {
  std::vector<pid_t> tree = {root};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::vector<pid_t> children = ChildrenOf(tree[i]);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  return tree;
}

std::int64_t LargestPeakOfTree(pid_t root) {
  std::int64_t bytes = 0;
  for (const pid_t process : ProcessTree(root)) {
    bytes = std::max(bytes, PeakResidentBytesOf(process));
  }
  return bytes;
}

}  // namespace foretell
