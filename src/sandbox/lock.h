#pragma once

#include <vector>

namespace foretell::sandbox {

/// Sandbox features of this kernel.
struct LockSupport {
  bool seccomp = false;   ///< System calls, by their numbers.
  bool landlock = false;  ///< Files, by their paths.

  bool IsWhole() const { return seccomp && landlock; }
};

/// Asks the kernel; changes nothing.
LockSupport FindLockSupport();

struct LockOptions {
  /// Descriptors that stay open. All others are closed, and the standard
  /// streams go to /dev/null.
  std::vector<int> keep;
  /// Allows machine code generated at run time, as for oneDNN's kernels.
  bool makes_code = false;
  /// Allows threads, and reading the files about this process and its machine
  /// (/proc, /sys, /dev/urandom), as measuring requires. Other forbidden calls
  /// then fail instead of ending the process.
  bool measures = false;
  /// Unsupported features are skipped.
  LockSupport support = FindLockSupport();
};

/// Permanently restricts this process and its future threads and children to
/// computing on their memory and communicating through open descriptors: no
/// file, socket, program, thread or process can be opened or started. A
/// forbidden call that libraries commonly make fails; any other ends the
/// process with SIGSYS. Other processes of the user can no longer inspect it.
/// Throws Error(kIo) if the kernel refuses.
void LockProcess(const LockOptions& options);

}  // namespace foretell::sandbox
