#pragma once

#include <vector>

#include "src/sandbox/lock.h"
#include "src/sandbox/paths.h"

namespace foretell::sandbox {

/// What another program may do that this process is about to execute.
struct ProgramLocks {
  std::vector<PathRule> paths;  ///< All that it may touch.
  /// The program's path, by which alone something can be executed: the very
  /// pointer that is passed to execve, which is unknown afterwards. Null:
  /// nothing can be.
  const char* program = nullptr;
  /// What is not supported is left out.
  LockSupport support = FindLockSupport();
};

/// Forbids this process for ever, with what it executes and its threads, files
/// beyond `paths`, the network, other processes (none can be started, signalled
/// or looked into), and changing rights, owners or times of files. What is
/// forbidden fails. Memory that can be executed stays allowed, as interpreters
/// and their libraries need it. Throws Error(kIo) if the kernel refuses.
void LockProgram(const ProgramLocks& locks);

}  // namespace foretell::sandbox
