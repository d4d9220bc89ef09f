#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/quantize.h"

namespace foretell {

/// How a cache holds keys and values.
enum class CacheFormat : std::uint8_t {
  kHalf,   ///< 16 bits: BF16 or FP16.
  kFloat,  ///< 32 bits.
  kFp8,    ///< 8 bits, one scale per tensor: vLLM's `fp8`.
  kInt8,   ///< 8 bits, scales per token and head: `int8_per_token_head`.
  kNvfp4,  ///< 4 bits, an FP8 scale per 16 numbers: vLLM's `nvfp4`.
  kInt4,   ///< 4 bits, scale and shift per 64: transformers' QuantizedCache.
};

/// "bf16", "fp32", "fp8", "int8", "nvfp4", "int4".
std::string_view ToString(CacheFormat format);
/// Inverse; "fp16" is kHalf too. Throws Error(kInvalidArgument) that lists the
/// names.
CacheFormat ParseCacheFormat(std::string_view name);

/// Equal layers of a decoder, by what each keeps of a sequence.
struct CacheLayers {
  enum class Kind : std::uint8_t {
    kFull,    ///< Keys and values of all tokens.
    kWindow,  ///< Of the last `window` tokens.
    kChunk,   ///< Of the tokens of the current chunk of `window` tokens.
    kLatent,  ///< One compressed vector per token (MLA), the same on all GPUs.
    kState,   ///< A state of constant size (Mamba, linear attention).
  };
  Kind kind = Kind::kFull;
  std::int64_t layers = 0;
  std::int64_t heads = 0;        ///< Of keys and values; 1 for kLatent.
  std::int64_t numbers = 0;      ///< Of a token in one head: key and value.
  std::int64_t window = 0;       ///< Tokens, of kWindow and kChunk.
  std::int64_t state_bytes = 0;  ///< Of kState.
  /// Bytes of a token that no format changes (the keys of DeepSeek's indexer);
  /// 0: `heads` and `numbers` decide.
  std::int64_t fixed_token_bytes = 0;

  bool operator==(const CacheLayers&) const = default;
};

/// "full", "window", "chunk", "latent", "state".
std::string_view ToString(CacheLayers::Kind kind);

/// What serving needs to know about a decoder.
struct Decoder {
  std::string model_type;
  std::vector<CacheLayers> layers;  ///< In the order of their first layer.
  std::int64_t width = 0;
  /// Numbers of a token inside a feed-forward part, over all of its experts.
  std::int64_t inner = 0;
  std::int64_t vocabulary = 0;
  bool tied_head = false;
  std::int64_t positions = 0;  ///< Longest sequence; 0 if not stated.
};

/// Reads a config.json of Hugging Face's transformers, whatever its model_type,
/// by the keys that decoders use; `origin` names it in errors.
///
/// Throws Error(kUnsupported) for an encoder, for layers of an unknown kind and
/// states of an unknown size, and Error(kCorrupt) for missing or invalid
/// values.
Decoder ReadDecoder(std::string_view config_json, std::string_view origin);

/// How a decoder is served.
struct ServingRequest {
  std::int64_t context = 8192;  ///< Tokens of a sequence, prompt and answer.
  CacheFormat cache = CacheFormat::kHalf;
  std::int64_t block = 16;             ///< Tokens that are allocated at once.
  std::int64_t tensor_parallel = 1;    ///< GPUs that share every layer.
  std::int64_t batched_tokens = 8192;  ///< Of one pass, all sequences together.
  std::int64_t sequences = 256;        ///< At most, of one pass.
  double memory_utilization = 0.9;     ///< Share of the GPU's memory.
  double usable_mib = 0;               ///< Memory of one GPU; 0: no GPU.
  std::int64_t parameters = 0;         ///< Of the network; 0: unknown.
  QuantizeSpec weights = {};           ///< Of all except embedding and head.
};

/// The cache of one GPU.
struct ServingPlan {
  double token_bytes = 0;     ///< By which a token more grows a long sequence.
  double sequence_bytes = 0;  ///< Of `context` tokens, without blocks.
  /// The same as vLLM allocates it: in blocks, windows with a pass's tokens.
  double allocated_bytes = 0;
  std::int64_t block_tokens = 0;  ///< Of one layer; a hybrid's is larger.

  /// The rest requires a GPU and the number of parameters.
  std::optional<double> weight_bytes = {};
  double activation_bytes = 0;  ///< Peak of a pass (estimate).
  double cache_bytes = 0;       ///< What remains; negative if nothing does.
  double concurrency = 0;       ///< Sequences of `context` tokens at once.
};

/// Bytes of one token in one layer of one GPU; 0 for kState.
///
/// Throws Error(kUnsupported) for a latent cache in a format that none has.
double TokenBytes(const CacheLayers& layers, const ServingRequest& request);

/// Bits of a weight in `spec`, scales included; 16 if it is not quantised.
double BitsPerWeight(const QuantizeSpec& spec);

/// The cache of `decoder` on each of the GPUs that share it.
///
/// Requires positive counts. Throws Error(kInvalidArgument) if the GPUs cannot
/// share the heads evenly, and what TokenBytes throws.
ServingPlan PlanServing(const Decoder& decoder, const ServingRequest& request);

}  // namespace foretell
