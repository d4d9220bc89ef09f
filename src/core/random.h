#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace foretell {

/// Random numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  /// One of 0..count-1; requires count > 0.
  std::size_t Below(std::size_t count) {
    return static_cast<std::size_t>(bits_() % count);
  }
  /// A number of [0, 1).
  double Share() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// A number of [low, high).
  double Between(double low, double high) {
    return low + (high - low) * Share();
  }
  /// Shuffles `values` (Fisher-Yates).
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[Below(i)]);
    }
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace foretell
