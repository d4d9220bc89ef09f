#pragma once

#include <vector>

#include "src/sandbox/lock.h"
#include "src/sandbox/paths.h"

namespace foretell::sandbox {

/// Permissions of a program that this process is about to execute.
struct ProgramLocks {
  std::vector<PathRule> paths;  ///< All paths that it may access.
  /// The program's path, the only one that can be executed: must be the same
  /// pointer as passed to execve. Null: nothing can be executed.
  const char* program = nullptr;
  /// Unsupported features are skipped.
  LockSupport support = FindLockSupport();
};

/// Permanently forbids this process, its threads and programs that it executes
/// files outside `paths`, the network, other processes (none can be started,
/// signalled or looked into), and changing rights, owners or times of files.
/// Forbidden calls fail. Executable memory stays allowed, because interpreters
/// and their libraries need it. Throws Error(kIo) if the kernel refuses.
void LockProgram(const ProgramLocks& locks);

}  // namespace foretell::sandbox
