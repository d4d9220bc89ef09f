#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace foretell {

/// Product of two non-negative numbers; empty when it exceeds int64.
inline std::optional<std::int64_t> CheckedMul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Product of all `factors` (1 for none); empty when it exceeds int64 or when
/// a factor is negative.
inline std::optional<std::int64_t> CheckedProduct(
    std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 0) return std::nullopt;
  }
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
  }
  for (const std::int64_t factor : factors) {
    const std::optional<std::int64_t> next = CheckedMul(product, factor);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

/// `value` rounded up to a multiple of `multiple` (> 0).
constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// `value` / `divisor` (> 0), rounded up.
constexpr std::int64_t CeilDiv(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace foretell
