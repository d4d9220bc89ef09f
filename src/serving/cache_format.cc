// Sizes of numbers in caches and weights.

#include <algorithm>
#include <array>
#include <cstddef>

#include "foretell/error.h"
#include "foretell/serving.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<6> kCacheFormatNames = {"bf16", "fp32",  "fp8",
                                            "int8", "nvfp4", "int4"};
constexpr NameTable<5> kLayerKindNames = {"full", "window", "chunk", "latent",
                                          "state"};

struct FormatSize {
  double number_bytes;
  double head_bytes;  ///< Of a token's scales of one head, keys and values.
  bool has_latent;    ///< MLA's vectors are held so.
};

// vLLM, vllm/v1/kv_cache_interface.py at 001cabc1: int8_per_token_head has two
// FP32 scales per token and head, nvfp4 an FP8 scale per 16 numbers.
// transformers 5.24, cache_utils.py: QuantizedCache has groups of 64 numbers,
// each with a scale and a shift in 16 bits (optimum-quanto). Its last tokens,
// up to 128, are not quantised; a constant that is left out.
constexpr std::array<FormatSize, 6> kFormatSizes = {{
    {2, 0, true},
    {4, 0, true},
    {1, 0, true},
    {1, 8, false},
    {0.5 + 1.0 / 16, 0, false},
    {0.5 + 4.0 / 64, 0, false},
}};

}  // namespace

std::string_view ToString(CacheFormat format) {
  return NameIn(kCacheFormatNames, format);
}

CacheFormat ParseCacheFormat(std::string_view name) {
  if (name == "fp16") return CacheFormat::kHalf;
  return RequireIn<CacheFormat>(kCacheFormatNames, name, "format of a cache");
}

std::string_view ToString(CacheLayers::Kind kind) {
  return NameIn(kLayerKindNames, kind);
}

double TokenBytes(const CacheLayers& layers, const ServingRequest& request) {
  if (layers.kind == CacheLayers::Kind::kState) return 0;
  if (layers.fixed_token_bytes > 0) {
    return static_cast<double>(layers.fixed_token_bytes);
  }
  const FormatSize& size =
      kFormatSizes[static_cast<std::size_t>(request.cache)];
  const bool is_latent = layers.kind == CacheLayers::Kind::kLatent;
  if (is_latent && !size.has_latent) {
    throw Error(ErrorCode::kUnsupported,
                "a latent cache has no format '" +
                    std::string(ToString(request.cache)) +
                    "', expected bf16, fp32 or fp8");
  }
  // Heads that are fewer than GPUs are copied.
  const std::int64_t heads =
      is_latent
          ? layers.heads
          : std::max<std::int64_t>(layers.heads / request.tensor_parallel, 1);
  return static_cast<double>(heads) *
         (static_cast<double>(layers.numbers) * size.number_bytes +
          size.head_bytes);
}

double BitsPerWeight(const QuantizeSpec& spec) {
  switch (spec.format) {
    case QuantFormat::kNf4:
    case QuantFormat::kFp4:
      // Blocks of 64 have an FP32 scale, nested one of 8 bits and, per 256 of
      // these, one in FP32.
      return 4 + (spec.nested ? 8.0 / 64 + 32.0 / (64 * 256) : 32.0 / 64);
    case QuantFormat::kGptq:
    case QuantFormat::kAwq:
      // A scale in 16 bits and a packed zero per group.
      return spec.bits + (16.0 + spec.bits) / spec.group;
    case QuantFormat::kInt8:
    case QuantFormat::kFp8:
      return 8;
    case QuantFormat::kUnquantized:
      break;
  }
  return 16;
}

}  // namespace foretell
