#pragma once

#include <vector>

namespace foretell::sandbox {

/// What this kernel lets a process forbid itself.
struct LockSupport {
  bool seccomp = false;   ///< System calls, by their numbers.
  bool landlock = false;  ///< Files, by their paths.

  bool IsWhole() const { return seccomp && landlock; }
};

/// Asks the kernel; changes nothing.
LockSupport FindLockSupport();

struct LockOptions {
  /// Descriptors that stay open. All others are closed, and the standard
  /// streams lead nowhere.
  std::vector<int> keep;
  /// Allows machine code that is made while running, as oneDNN's kernels are.
  bool makes_code = false;
  /// Allows threads, and reading the files that tell of this process and its
  /// machine (/proc, /sys, /dev/urandom), as measuring takes. What else is
  /// forbidden then fails and does not end the process.
  bool measures = false;
  /// What is not supported is left out.
  LockSupport support = FindLockSupport();
};

/// Forbids this process for ever, with its threads and children to come, all
/// but computing on the memory that it has and speaking through descriptors
/// that stay open: no file, socket, program, thread or process can be opened
/// or started. A forbidden call that libraries make in passing fails; any other
/// ends the process by SIGSYS. Takes away the right to be inspected by other
/// processes of the user. Throws Error(kIo) where the kernel refuses.
void LockProcess(const LockOptions& options);

}  // namespace foretell::sandbox
