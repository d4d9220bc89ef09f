#pragma once

namespace foretell::torchscript {

/// Puts a charge (charges.h) in front of TorchScript's operators on strings and
/// of those that multiply lists. It counts while a RunBudget lives and does
/// nothing otherwise. Idempotent and thread-safe.
///
/// This cannot be left to nodes in the graph (sizes.h): the compiler folds
/// operators on constant strings while it loads a file.
void GuardOperators();

}  // namespace foretell::torchscript
