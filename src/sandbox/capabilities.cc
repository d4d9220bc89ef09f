#include "src/sandbox/capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "src/sandbox/refusal.h"

namespace foretell::sandbox {

void DropCapabilities(bool reads_files) {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3,
                                     .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {};
  Require(syscall(SYS_capget, &header, sets.data()) == 0, "capget");
  constexpr std::uint32_t kReading = 1U << CAP_DAC_READ_SEARCH;
  const std::uint32_t kept =
      reads_files ? sets[0].permitted & kReading : std::uint32_t{0};
  sets = {};
  sets[0].permitted = kept;
  sets[0].effective = kept;
  Require(syscall(SYS_capset, &header, sets.data()) == 0, "capset");
}

}  // namespace foretell::sandbox
