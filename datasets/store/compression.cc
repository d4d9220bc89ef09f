#include "datasets/store/compression.h"

#include <zlib.h>

#include "datasets/store/checksum.h"
#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::dataset {
namespace {

/// deflate never does better than 1032 : 1 (zlib's technical notes).
constexpr std::int64_t kMaxRatio = 1032;
constexpr std::int64_t kMaxHeaderBytes = 64;

Error BadStream(std::int64_t raw_bytes, std::int64_t packed) {
  return Corrupt("a zlib stream of {} does not unpack to {}",
                 Counted(packed, "byte"), Counted(raw_bytes, "byte"));
}

}  // namespace

PackedBlob Pack(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string data(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(data.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               bytes.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) {
    throw InternalFailure("zlib cannot compress {}: status {}",
                          Counted(bytes.size(), "byte"), status);
  }
  data.resize(size);
  data.shrink_to_fit();
  return {std::move(data), std::ssize(bytes), ContentHash(bytes)};
}

std::string Unpack(std::string_view data, std::int64_t raw_bytes) {
  const std::int64_t packed = std::ssize(data);
  if (raw_bytes < 0 || raw_bytes > packed * kMaxRatio + kMaxHeaderBytes) {
    throw BadStream(raw_bytes, packed);
  }
  std::string bytes(static_cast<std::size_t>(raw_bytes), '\0');
  uLongf size = bytes.size();
  uLong consumed = data.size();
  const int status =
      uncompress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                  reinterpret_cast<const Bytef*>(data.data()), &consumed);
  if (status != Z_OK || size != bytes.size() || consumed != data.size()) {
    throw BadStream(raw_bytes, packed);
  }
  return bytes;
}

}  // namespace foretell::dataset
