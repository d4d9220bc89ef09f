#pragma once

#include <cstdint>

namespace foretell::learned {

// Loops over one row of `size` elements, compiled for several instruction
// sets; the processor's best is chosen when the program starts. No reductions
// and no fused multiply-add, so that every choice gives the same bits. Rows
// may not overlap unless they are the same.

/// out = value
void FillRow(float* out, float value, std::int64_t size);
void FillRow(double* out, double value, std::int64_t size);

/// out = x · scale
void ScaleRow(float* out, const float* x, float scale, std::int64_t size);
void ScaleRow(double* out, const double* x, double scale, std::int64_t size);

/// out += x · scale
void AddScaledRow(float* out, const float* x, float scale, std::int64_t size);
void AddScaledRow(double* out, const double* x, double scale,
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

/// x = max(x, 0) · scale for the elements kept, else 0. Not-a-number stays.
void ReluDropoutRow(float* x, float scale, RowNoise noise, std::int64_t size);
void ReluDropoutRow(double* x, double scale, RowNoise noise, std::int64_t size);

/// out = gradient · scale where y > 0, else 0.
void MaskedScaleRow(float* out, const float* gradient, const float* y,
                    float scale, std::int64_t size);
void MaskedScaleRow(double* out, const double* gradient, const double* y,
                    double scale, std::int64_t size);

}  // namespace foretell::learned
