#include "src/sandbox/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/core/descriptor.h"
#include "src/sandbox/refusal.h"

namespace foretell::sandbox {
namespace {

/// All rights to files of Landlock's first version.
constexpr std::uint64_t kFirstRights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr long kVersionWithRefer = 2;
/// Those that a rule for a file, not a folder, may give.
constexpr std::uint64_t kFileRights = LANDLOCK_ACCESS_FS_EXECUTE |
                                      LANDLOCK_ACCESS_FS_WRITE_FILE |
                                      LANDLOCK_ACCESS_FS_READ_FILE;

long LandlockVersion() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0,
                 LANDLOCK_CREATE_RULESET_VERSION);
}

/// The rights that are forbidden unless a rule gives them.
std::uint64_t HandledRights() {
  const bool has_refer = LandlockVersion() >= kVersionWithRefer;
  return kFirstRights | (has_refer ? LANDLOCK_ACCESS_FS_REFER : 0);
}

mode_t ModeOf(const Descriptor& place) {
  struct stat status = {};
  Require(fstat(place.number(), &status) == 0, "fstat");
  return status.st_mode;
}

void Allow(const PathRule& each, std::uint64_t handled,
           const Descriptor& ruleset) {
  const Descriptor place(open(each.path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.is_open()) return;
  const mode_t mode = ModeOf(place);
  if (each.is_file && !S_ISREG(mode)) return;
  const landlock_path_beneath_attr rule = {
      .allowed_access = each.rights & handled &
                        (S_ISDIR(mode) ? ~std::uint64_t{0} : kFileRights),
      .parent_fd = place.number()};
  Require(syscall(SYS_landlock_add_rule, ruleset.number(),
                  LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0,
          "landlock_add_rule");
}

}  // namespace

bool IsPathLockSupported() { return LandlockVersion() >= 1; }

void AllowPathsOnly(std::span<const PathRule> rules) {
  landlock_ruleset_attr handled = {};
  handled.handled_access_fs = HandledRights();
  const Descriptor ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0)));
  Require(ruleset.is_open(), "landlock_create_ruleset");
  for (const PathRule& each : rules) {
    Allow(each, handled.handled_access_fs, ruleset);
  }
  Require(syscall(SYS_landlock_restrict_self, ruleset.number(), 0) == 0,
          "landlock_restrict_self");
}

}  // namespace foretell::sandbox
