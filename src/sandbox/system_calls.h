#pragma once

namespace foretell::sandbox {

/// True if the kernel can end a process for a system call.
bool IsFilterSupported();

/// Permanently restricts this process to the calls in system_calls.cc.
/// `makes_code` also allows executable memory; `measures` also allows threads
/// and reading files, and makes other calls fail instead of ending the process.
/// Returns 0 or an errno.
int FilterSystemCalls(bool makes_code, bool measures);

/// Permanently forbids this process and the program that it executes calls that
/// reach the network, other processes or the machine (kReaching); they fail.
/// Threads can be started; `program` can be executed, by this pointer to its
/// path. Returns 0 or an errno.
int FilterForProgram(const char* program);

}  // namespace foretell::sandbox
