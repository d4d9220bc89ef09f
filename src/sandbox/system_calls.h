#pragma once

namespace foretell::sandbox {

/// Whether the kernel can end a process for a system call.
bool IsFilterSupported();

/// Allows this process from now on only the calls in system_calls.cc. With
/// `makes_code` also memory that can be executed; with `measures` threads and
/// reading files, too, and others fail instead of ending the process. Returns 0
/// or an errno.
int FilterSystemCalls(bool makes_code, bool measures);

/// Forbids this process from now on, and the program that it executes, calls
/// that reach the network, other processes or the machine, see kReaching; they
/// fail. Threads can be started; `program` can be executed, by this pointer to
/// its path. Returns 0 or an errno.
int FilterForProgram(const char* program);

}  // namespace foretell::sandbox
