#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretell::plan {

/// Placeholder of the block in a command: "python algo.py {shape}".
inline constexpr char kShapePlace[] = "{shape}";

/// Runs `command` by the shell with the sizes instead of {shape} ("64,64,64")
/// and returns the peak resident memory of the largest of the processes that it
/// starts and waits for: exact if it exceeds that of this process; else, and
/// for processes not waited for, sampled every few milliseconds, so that
/// allocations in the last ones may be missed.
///
/// Throws Error(kInvalidArgument) for a command without {shape}, or with
/// nothing else; Error(kUnsupported) that quotes the command and its last
/// output, on one line, if it ends with a status other than 0, by a signal or
/// after `deadline_s`.
std::int64_t MeasurePeak(const std::string& command,
                         const std::vector<std::int64_t>& shape,
                         double deadline_s);

}  // namespace foretell::plan
