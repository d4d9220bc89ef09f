#pragma once

#include <cstdint>

#include "src/core/checked.h"

namespace foretell::meta {

/// Values that share a scale in MX formats.
inline constexpr std::int64_t kMxBlock = 32;

/// Bytes of scales [rows, columns] in the tiles of 128 rows and four columns
/// that cuBLAS reads.
constexpr std::int64_t TiledScaleBytes(std::int64_t rows,
                                       std::int64_t columns) {
  constexpr std::int64_t kTileRows = 128;
  constexpr std::int64_t kTileColumns = 4;
  return RoundUp(rows, kTileRows) * RoundUp(columns, kTileColumns);
}

}  // namespace foretell::meta
