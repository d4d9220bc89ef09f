// Two locks, one inside the other. seccomp is the strict one: a list of calls
// that LibTorch and the C library make while they compute, and an end for every
// other. Landlock then allows no path at all, should a call of the list have
// been misjudged. Neither needs a privilege, and neither can be taken off.

#include "src/sandbox/lock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "src/core/descriptor.h"
#include "src/sandbox/capabilities.h"
#include "src/sandbox/paths.h"
#include "src/sandbox/refusal.h"
#include "src/sandbox/system_calls.h"

namespace foretell::sandbox {
namespace {

/// Points the standard streams at /dev/null, so that no output can be forged,
/// and closes what is not kept.
void CloseDescriptors(std::vector<int> keep) {
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  Require(nothing.is_open(), "/dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (std::ranges::find(keep, stream) != keep.end()) continue;
    Require(dup2(nothing.number(), stream) >= 0, "dup2");
  }
  std::ranges::sort(keep);
  unsigned first = STDERR_FILENO + 1;
  for (const int kept : keep) {
    const auto number = static_cast<unsigned>(kept);
    if (kept <= STDERR_FILENO) continue;
    if (number > first) close_range(first, number - 1, 0);
    first = number + 1;
  }
  close_range(first, ~0U, 0);
}

/// Files with information on this process and its machine.
const PathRule kMachine[] = {
    {"/proc", kReadFolders},
    {"/sys", kReadFolders},
    {"/dev/urandom", kReadFile},
};

}  // namespace

LockSupport FindLockSupport() {
  return {.seccomp = IsFilterSupported(), .landlock = IsPathLockSupported()};
}

void LockProcess(const LockOptions& options) {
  CloseDescriptors(options.keep);
  Require(prctl(PR_SET_DUMPABLE, 0) == 0, "PR_SET_DUMPABLE");
  Require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  DropCapabilities(false);
  if (options.support.landlock) {
    AllowPathsOnly(options.measures ? std::span<const PathRule>(kMachine)
                                    : std::span<const PathRule>());
  }
  if (!options.support.seccomp) return;
  RequireNone(FilterSystemCalls(options.makes_code, options.measures),
              "seccomp");
}

}  // namespace foretell::sandbox
