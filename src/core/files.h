#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace foretell {

/// Bytes of the file at `path`. Throws Error that names it: kNotFound where
/// there is none; kIo where it cannot be read or is no regular file (a pipe
/// would let the caller wait for ever, a device would never end); kUnsupported
/// where it has more than `most_bytes`, before any is read.
std::string ReadFile(const std::string& path, std::int64_t most_bytes);

/// The first `count` bytes of a file, to tell its format: fewer where it has
/// fewer, none where it cannot be read or is no regular file. Never waits.
std::string FirstBytes(const std::string& path, std::size_t count);

}  // namespace foretell
