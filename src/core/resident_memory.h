#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace foretell {

/// Most bytes of host memory that a process had resident since it was forked or
/// executed; 0 if Linux does not report it, as for one that has ended.
/// (getrusage's figure would count all of its parent's at the fork too.)
std::int64_t PeakResidentBytesOf(pid_t process);

/// Bytes of host memory that this process has resident now, without the pages
/// of files and of shared memory; 0 if Linux does not report it.
std::int64_t OwnResidentBytes();

/// A process and its live descendants, itself first.
std::vector<pid_t> ProcessTree(pid_t root);

/// The largest peak, as of PeakResidentBytesOf, in a ProcessTree. (A sum would
/// count the pages that a forked child shares twice.)
std::int64_t LargestPeakOfTree(pid_t root);

}  // namespace foretell
