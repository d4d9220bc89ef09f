#include "src/core/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace foretell {
namespace {

#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Since Linux 6.1; glibc 2.37 names it.
#endif

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;

}  // namespace

void PutHeapOnHugePages() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[heap]")) continue;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    begin = (begin + kHugePage - 1) / kHugePage * kHugePage;
    end = end / kHugePage * kHugePage;
    if (begin >= end) continue;
    // What cannot be had leaves the heap as it was.
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_COLLAPSE);
  }
}

}  // namespace foretell
