#include "datasets/store/checksum.h"

#include <sqlite3.h>
#include <zlib.h>

#include <bit>

namespace foretell::dataset {
namespace {

static_assert(std::endian::native == std::endian::little,
              "blobs and checksums are little-endian");

/// CRC-32 that is fed cell by cell.
class Checksum {
 public:
  void AddNull() { AddByte(0); }
  void AddInteger(std::int64_t value) {
    AddByte(1);
    AddWord(std::bit_cast<std::uint64_t>(value));
  }
  void AddReal(double value) {
    AddByte(2);
    AddWord(std::bit_cast<std::uint64_t>(value));
  }
  void AddText(std::string_view text) { AddBytes(3, text); }
  void AddBlob(std::string_view bytes) { AddBytes(4, bytes); }

  std::uint32_t value() const { return static_cast<std::uint32_t>(crc_); }

 private:
  void Add(const void* data, std::size_t size) {
    crc_ = crc32_z(crc_, static_cast<const Bytef*>(data), size);
  }
  void AddByte(unsigned char byte) { Add(&byte, 1); }
  void AddWord(std::uint64_t word) { Add(&word, sizeof(word)); }
  void AddBytes(unsigned char type, std::string_view bytes) {
    AddByte(type);
    AddWord(bytes.size());
    // A null pointer would reset zlib's checksum.
    if (!bytes.empty()) Add(bytes.data(), bytes.size());
  }

  uLong crc_ = crc32_z(0, nullptr, 0);
};

std::string_view BytesOf(sqlite3_value* value) {
  const void* data = sqlite3_value_type(value) == SQLITE_TEXT
                         ? static_cast<const void*>(sqlite3_value_text(value))
                         : sqlite3_value_blob(value);
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), size};
}

void AddValue(Checksum& checksum, sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return checksum.AddInteger(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
      return checksum.AddReal(sqlite3_value_double(value));
    case SQLITE_TEXT:
      return checksum.AddText(BytesOf(value));
    case SQLITE_BLOB:
      return checksum.AddBlob(BytesOf(value));
    default:
      return checksum.AddNull();
  }
}

void RowCrcFunction(sqlite3_context* context, int count,
                    sqlite3_value** values) {
  Checksum checksum;
  for (int i = 0; i < count; ++i) AddValue(checksum, values[i]);
  sqlite3_result_int64(context, checksum.value());
}

}  // namespace

int RegisterRowChecksum(sqlite3* handle) {
  return sqlite3_create_function_v2(
      handle, "row_crc", /*nArg=*/-1,
      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
      &RowCrcFunction, nullptr, nullptr, nullptr);
}

std::int64_t ContentHash(std::string_view bytes) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = kOffset;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  return std::bit_cast<std::int64_t>(hash);
}

}  // namespace foretell::dataset
