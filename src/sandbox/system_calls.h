#pragma once

namespace foretell::sandbox {

/// Whether the kernel can end a process for a system call.
bool IsFilterSupported();

/// Allows this process from now on only the calls in system_calls.cc. With
/// `makes_code` also memory that can be executed. Returns 0 or an errno.
int FilterSystemCalls(bool makes_code);

}  // namespace foretell::sandbox
