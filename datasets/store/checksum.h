#pragma once

#include <cstdint>
#include <string_view>

struct sqlite3;

namespace foretell::dataset {

/// Registers the SQL function row_crc(cell, …): the CRC-32 (of zlib) of a row's
/// cells in order. Each cell contributes its type, then 8 little-endian bytes
/// (INTEGER, REAL) or its length in 8 bytes and its bytes (TEXT, BLOB). It
/// finds every burst of up to 32 flipped bits. Returns the status of SQLite.
int RegisterRowChecksum(sqlite3* handle);

/// 64-bit FNV-1a of `bytes`, as SQLite's signed integer. Finds candidates for
/// equal content; it is not proof of equality.
std::int64_t ContentHash(std::string_view bytes);

}  // namespace foretell::dataset
