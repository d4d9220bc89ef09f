#pragma once

#include <cstdint>

namespace foretell::learned {

// Loops over one row of `size` elements, float or double. No reductions and no
// fused multiply-add, so that every processor gives the same bits. Rows may not
// overlap unless they are the same.

/// out = value
template <typename T>
void FillRow(T* out, T value, std::int64_t size);

/// out = x · scale
template <typename T>
void ScaleRow(T* out, const T* x, T scale, std::int64_t size);

/// out += x · scale
template <typename T>
void AddScaledRow(T* out, const T* x, T scale, std::int64_t size);

/// out = gradient · scale where y > 0, else 0.
template <typename T>
void MaskedScaleRow(T* out, const T* gradient, const T* y, T scale,
                    std::int64_t size);

/// Which elements dropout keeps: element i where
/// MixBits(seed ^ i) >= threshold.
struct RowNoise {
  std::uint32_t seed = 0;
  std::uint32_t threshold = 0;
};

/// A well mixed 32-bit number for every counter: shift and multiply, as in the
/// finalizer of a hash, because it runs in vector registers where a generator
/// with a state does not.
inline std::uint32_t MixBits(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/// x = max(x, 0) · scale for the elements kept, else 0. Not-a-number stays. The
/// loop for float is compiled for several instruction sets; the processor's
/// best is chosen when the program starts.
void ReluDropoutRow(float* x, float scale, RowNoise noise, std::int64_t size);
void ReluDropoutRow(double* x, double scale, RowNoise noise, std::int64_t size);

}  // namespace foretell::learned
