// Two locks, one inside the other. seccomp is the strict one: a list of calls
// that LibTorch and the C library make while they compute, and an end for every
// other. Landlock then allows no path at all, should a call of the list have
// been misjudged. Neither needs a privilege, and neither can be taken off.

#include "src/sandbox/lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>

#include "foretell/error.h"
#include "src/core/descriptor.h"
#include "src/sandbox/system_calls.h"

namespace foretell::sandbox {
namespace {

[[noreturn]] void Fail(const char* what, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("sandbox: {}: {}", what, SystemMessage(error)));
}

void Require(bool is_done, const char* what) {
  if (!is_done) Fail(what, errno);
}

/// Points the standard streams at nothing, so that nobody's output can be
/// forged, and closes what is not kept.
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

int LandlockVersion() {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                  LANDLOCK_CREATE_RULESET_VERSION));
}

/// What tells of this process and its machine.
struct Readable {
  const char* path;
  std::uint64_t rights;
};

constexpr Readable kMachine[] = {
    {"/proc", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
    {"/sys", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
    {"/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE},
};

/// Handles every right to files of the first version, and allows none but
/// reading `readable`.
void ForbidPaths(std::span<const Readable> readable) {
  landlock_ruleset_attr rules = {};
  rules.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const Descriptor ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0)));
  Require(ruleset.is_open(), "landlock_create_ruleset");
  for (const Readable& each : readable) {
    const Descriptor place(open(each.path, O_PATH | O_CLOEXEC));
    if (!place.is_open()) continue;
    const landlock_path_beneath_attr rule = {.allowed_access = each.rights,
                                             .parent_fd = place.number()};
    Require(syscall(SYS_landlock_add_rule, ruleset.number(),
                    LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0,
            "landlock_add_rule");
  }
  Require(syscall(SYS_landlock_restrict_self, ruleset.number(), 0) == 0,
          "landlock_restrict_self");
}

}  // namespace

LockSupport FindLockSupport() {
  return {.seccomp = IsFilterSupported(), .landlock = LandlockVersion() >= 1};
}

void LockProcess(const LockOptions& options) {
  CloseDescriptors(options.keep);
  Require(prctl(PR_SET_DUMPABLE, 0) == 0, "PR_SET_DUMPABLE");
  Require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  if (options.support.landlock) {
    ForbidPaths(options.measures ? std::span<const Readable>(kMachine)
                                 : std::span<const Readable>());
  }
  if (!options.support.seccomp) return;
  const int error = FilterSystemCalls(options.makes_code, options.measures);
  if (error != 0) Fail("seccomp", error);
}

}  // namespace foretell::sandbox
