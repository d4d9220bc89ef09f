#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretell::plan {

/// Stands for the block in a command: "python algo.py {shape}".
inline constexpr char kShapePlace[] = "{shape}";

/// Runs `command` by the shell with the sizes in the place of {shape}
/// ("64,64,64") and answers with the peak resident memory of the largest of the
/// processes that it starts and waits for: exact where it is more than this
/// process holds; else, and of those not waited for, as it is looked at every
/// few milliseconds, so that what is taken in the last ones may be missed.
///
/// Throws Error(kInvalidArgument) for a command without {shape}, or with no more
/// than that;
/// Error(kUnsupported) that quotes the command with its last words, on one
/// line, where it ends with another status than 0, by a signal or after
/// `deadline_s`.
std::int64_t MeasurePeak(const std::string& command,
                         const std::vector<std::int64_t>& shape,
                         double deadline_s);

}  // namespace foretell::plan
