#pragma once

namespace foretell::torchscript {

/// Makes TorchScript's divisions of two integers throw where the processor
/// would end the process: by zero, and of the smallest integer by -1.
/// Idempotent and thread-safe.
///
/// The operators themselves are replaced: the compiler already runs them on
/// constants while it loads a file.
void GuardIntegerDivision();

}  // namespace foretell::torchscript
