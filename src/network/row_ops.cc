#include "src/network/row_ops.h"

// One function, several instruction sets. The start-up choice runs before
// AddressSanitizer is ready, so such builds use the plain version.
#if defined(__SANITIZE_ADDRESS__)
#define FORETELL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORETELL_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(FORETELL_SANITIZED)
#define FORETELL_CLONES \
  __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FORETELL_CLONES
#endif

// A template cannot be cloned; it is inlined into functions that are.
#define FORETELL_INLINE inline __attribute__((always_inline))

namespace foretell::learned {
namespace {

template <typename T>
FORETELL_INLINE void Fill(T* out, T value, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = value;
}

template <typename T>
FORETELL_INLINE void Scale(T* out, const T* x, T scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = x[i] * scale;
}

template <typename T>
FORETELL_INLINE void AddScaled(T* out, const T* x, T scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] += x[i] * scale;
}

template <typename T>
FORETELL_INLINE void ReluDropout(T* x, T scale, RowNoise noise,
                                 std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t bits =
        MixBits(noise.seed ^ static_cast<std::uint32_t>(i));
    const T factor = bits >= noise.threshold ? scale : T(0);
    x[i] = (x[i] < 0 ? T(0) : x[i]) * factor;
  }
}

template <typename T>
FORETELL_INLINE void MaskedScale(T* out, const T* gradient, const T* y, T scale,
                                 std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    out[i] = gradient[i] * (y[i] > 0 ? scale : T(0));
  }
}

}  // namespace

FORETELL_CLONES
void FillRow(float* out, float value, std::int64_t size) {
  Fill(out, value, size);
}

FORETELL_CLONES
void FillRow(double* out, double value, std::int64_t size) {
  Fill(out, value, size);
}

FORETELL_CLONES
void ScaleRow(float* out, const float* x, float scale, std::int64_t size) {
  Scale(out, x, scale, size);
}

FORETELL_CLONES
void ScaleRow(double* out, const double* x, double scale, std::int64_t size) {
  Scale(out, x, scale, size);
}

FORETELL_CLONES
void AddScaledRow(float* out, const float* x, float scale, std::int64_t size) {
  AddScaled(out, x, scale, size);
}

FORETELL_CLONES
void AddScaledRow(double* out, const double* x, double scale,
                  std::int64_t size) {
  AddScaled(out, x, scale, size);
}

FORETELL_CLONES
void ReluDropoutRow(float* x, float scale, RowNoise noise, std::int64_t size) {
  ReluDropout(x, scale, noise, size);
}

FORETELL_CLONES
void ReluDropoutRow(double* x, double scale, RowNoise noise,
                    std::int64_t size) {
  ReluDropout(x, scale, noise, size);
}

FORETELL_CLONES
void MaskedScaleRow(float* out, const float* gradient, const float* y,
                    float scale, std::int64_t size) {
  MaskedScale(out, gradient, y, scale, size);
}

FORETELL_CLONES
void MaskedScaleRow(double* out, const double* gradient, const double* y,
                    double scale, std::int64_t size) {
  MaskedScale(out, gradient, y, scale, size);
}

}  // namespace foretell::learned
