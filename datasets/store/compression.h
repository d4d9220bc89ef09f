#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretell::dataset {

/// Bytes as a zlib stream, with what is needed to find and check them.
struct PackedBlob {
  std::string data;            ///< zlib stream.
  std::int64_t raw_bytes = 0;  ///< Before compression.
  std::int64_t hash = 0;       ///< ContentHash before compression.
  bool operator==(const PackedBlob&) const = default;
};

/// Compresses `bytes`.
PackedBlob Pack(std::string_view bytes);

/// Inverse of Pack. Throws Error(kCorrupt) for anything but a zlib stream of
/// exactly `raw_bytes` bytes; allocates no more than such a stream can hold.
std::string Unpack(std::string_view data, std::int64_t raw_bytes);

}  // namespace foretell::dataset
