#pragma once

namespace foretell::torchscript {

/// Makes operators of TorchScript's own, which no recorder sees, throw where
/// they would end the process: divisions of two integers by zero, and of the
/// smallest by -1; tensors of an element type that does not exist.
/// Idempotent and thread-safe.
///
/// The operators themselves are replaced: the compiler already runs them on
/// constants while it loads a file.
void GuardOperators();

}  // namespace foretell::torchscript
