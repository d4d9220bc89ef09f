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
  /// Allows threads, and reading the files about this process and its machine
  /// (/proc, /sys, /dev/urandom), as measuring requires. What else is forbidden
  /// then fails and does not end the process.
  bool measures = false;
  /// What is not supported is left out.
  LockSupport support = FindLockSupport();
};

/// Forbids this process for ever, with its threads and children to come,
/// everything except computing on the memory that it has and communicating
/// through descriptors that stay open: no file, socket, program, thread or
/// process can be opened or started. A forbidden call that libraries make in
/// passing fails; any other ends the process by SIGSYS. Other processes of the
/// user can no longer inspect it. Throws Error(kIo) if the kernel refuses.
void LockProcess(const LockOptions& options);

}  // namespace foretell::sandbox
