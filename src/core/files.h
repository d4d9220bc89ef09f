#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "src/core/descriptor.h"

namespace foretell {

/// For files that are not read whole.
inline constexpr std::int64_t kAnySize =
    std::numeric_limits<std::int64_t>::max();

/// A regular file, open for reading.
struct RegularFile {
  Descriptor descriptor;
  std::int64_t size = 0;  ///< Size in bytes when it was opened.
  std::string path;       ///< Path it was opened by.
};

/// Opens the file at `path`; never blocks. Throws Error that names it:
/// kNotFound if it does not exist; kIo if it cannot be opened or is not a
/// regular file (a pipe could block for ever, a device may be endless);
/// kUnsupported if it has more than `most_bytes`.
RegularFile OpenRegularFile(const std::string& path, std::int64_t most_bytes);

/// Bytes of the file at `path`. Throws what OpenRegularFile does, before
/// reading, and Error(kIo) if it cannot be read.
std::string ReadFile(const std::string& path, std::int64_t most_bytes);

/// As ReadFile; empty if there is no such file.
std::optional<std::string> ReadFileIfAny(const std::string& path,
                                         std::int64_t most_bytes);

/// A whole file of devices, flags or notes, as ReadFile; of at most 16 MiB, a
/// thousand times the size of such a file.
std::string ReadText(const std::string& path);

/// The first `count` bytes of a file, to detect its format: fewer if it has
/// fewer, none if it cannot be read or is not a regular file. Never blocks.
std::string FirstBytes(const std::string& path, std::size_t count);
/// As above for an open file. Throws Error(kIo) if it cannot be read.
std::string FirstBytes(const RegularFile& file, std::size_t count);

}  // namespace foretell
