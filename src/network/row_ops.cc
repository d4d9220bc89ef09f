#include "src/network/row_ops.h"

// One function, several instruction sets: the hash of dropout takes 0.4 of the
// time with AVX-512, the other loops wait for memory. The start-up choice runs
// before AddressSanitizer is ready, so such builds use the plain version.
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

namespace foretell::learned {
namespace {

// A template cannot be cloned; it is inlined into a function that is.
template <typename T>
inline __attribute__((always_inline)) void ReluDropout(T* x, T scale,
                                                       RowNoise noise,
                                                       std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t bits =
        MixBits(noise.seed ^ static_cast<std::uint32_t>(i));
    const T factor = bits >= noise.threshold ? scale : T(0);
    x[i] = (x[i] < 0 ? T(0) : x[i]) * factor;
  }
}

}  // namespace

template <typename T>
void FillRow(T* out, T value, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = value;
}

template <typename T>
void ScaleRow(T* out, const T* x, T scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = x[i] * scale;
}

template <typename T>
void AddScaledRow(T* out, const T* x, T scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) out[i] += x[i] * scale;
}

template <typename T>
void MaskedScaleRow(T* out, const T* gradient, const T* y, T scale,
                    std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    out[i] = gradient[i] * (y[i] > 0 ? scale : T(0));
  }
}

FORETELL_CLONES
void ReluDropoutRow(float* x, float scale, RowNoise noise, std::int64_t size) {
  ReluDropout(x, scale, noise, size);
}

void ReluDropoutRow(double* x, double scale, RowNoise noise,
                    std::int64_t size) {
  ReluDropout(x, scale, noise, size);
}

template void FillRow(float*, float, std::int64_t);
template void FillRow(double*, double, std::int64_t);
template void ScaleRow(float*, const float*, float, std::int64_t);
template void ScaleRow(double*, const double*, double, std::int64_t);
template void AddScaledRow(float*, const float*, float, std::int64_t);
template void AddScaledRow(double*, const double*, double, std::int64_t);
template void MaskedScaleRow(float*, const float*, const float*, float,
                             std::int64_t);
template void MaskedScaleRow(double*, const double*, const double*, double,
                             std::int64_t);

}  // namespace foretell::learned
