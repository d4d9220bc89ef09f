// A list of what is forbidden, not of what is allowed: an interpreter with its
// libraries calls nearly all of the kernel. What the list is for is short: the
// network, other processes, and what Landlock's first version leaves open. Of
// what Linux got since 2019 only a few calls are allowed: libraries go on
// without the others.

#include "src/sandbox/program_lock.h"

#include <sys/prctl.h>

#include "src/sandbox/capabilities.h"
#include "src/sandbox/refusal.h"
#include "src/sandbox/system_calls.h"

namespace foretell::sandbox {

void LockProgram(const ProgramLocks& locks) {
  Require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  DropCapabilities(true);
  if (locks.support.landlock) AllowPathsOnly(locks.paths);
  if (!locks.support.seccomp) return;
  RequireNone(FilterForProgram(locks.program), "seccomp");
}

}  // namespace foretell::sandbox
