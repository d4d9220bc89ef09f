#include "src/network/keep_memory.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace foretell::learned {

void KeepFreedMemory() {
#if defined(__GLIBC__)
  constexpr int kMib = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMib);  // The most that glibc accepts.
  mallopt(M_TRIM_THRESHOLD, 2047 * kMib);
  mallopt(M_TOP_PAD, 64 * kMib);
#endif
}

}  // namespace foretell::learned
