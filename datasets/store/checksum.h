#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "datasets/store/sqlite.h"

struct sqlite3;

namespace foretell::dataset {

/// CRC-32 (of zlib) of a row's cells in order. Each cell contributes its type,
/// then 8 little-endian bytes (INTEGER, REAL) or its length in 8 bytes and its
/// bytes (TEXT, BLOB). It finds every burst of up to 32 flipped bits.
std::uint32_t RowChecksum(std::span<const Cell> cells);

/// Registers RowChecksum as the SQL function row_crc(cell, …); returns the
/// status of SQLite.
int RegisterRowChecksum(sqlite3* handle);

/// 64-bit FNV-1a of `bytes`, as SQLite's signed integer. Finds candidates for
/// equal content; it is not proof of equality.
std::int64_t ContentHash(std::string_view bytes);

}  // namespace foretell::dataset
