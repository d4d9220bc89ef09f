#pragma once

namespace foretell::learned {

/// Tells the C library to keep freed blocks for the next step instead of giving
/// them back to the system; for a program that trains, once, at its start.
///
/// A training step allocates and frees the same activations every time. By
/// default glibc returns blocks of megabytes at once, and the system clears and
/// maps every page again: a tenth to a sixth of a step on the CPU. Afterwards
/// the process keeps its peak. Does nothing with another C library.
void KeepFreedMemory();

}  // namespace foretell::learned
