// vLLM's arithmetic of blocks, as vllm/v1/core/kv_cache_utils.py and
// kv_cache_interface.py at 001cabc1 have it.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "foretell/error.h"
#include "foretell/serving.h"
#include "src/core/units.h"

namespace foretell {
namespace {

using Kind = CacheLayers::Kind;

/// Bytes of a logit during vLLM's trial of its sampler: 1.26 GiB for 256
/// sequences of LLaMA-3-8B (pull request vllm-project/vllm#10511).
constexpr double kSamplerBytesPerLogit = 41;
constexpr double kHalfBytes = 2;

std::int64_t CeilDivide(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

bool GrowsForever(const CacheLayers& layers) {
  return layers.kind == Kind::kFull || layers.kind == Kind::kLatent;
}

/// Tokens of a sequence that a layer keeps between passes.
std::int64_t KeptTokens(const CacheLayers& layers,
                        const ServingRequest& request) {
  if (GrowsForever(layers)) return request.context;
  // transformers 5.24 keeps one less than the window between passes.
  const std::int64_t most =
      layers.kind == Kind::kWindow ? layers.window - 1 : layers.window;
  return std::min(most, request.context);
}

/// Blocks of `block` tokens that a sequence has in a layer.
std::int64_t BlocksOf(const CacheLayers& layers, const ServingRequest& request,
                      std::int64_t block) {
  if (layers.kind == Kind::kState) return 1;
  if (GrowsForever(layers)) return CeilDivide(request.context, block);
  const std::int64_t kept =
      layers.kind == Kind::kWindow ? layers.window - 1 : layers.window;
  const std::int64_t tokens =
      std::min(kept + request.batched_tokens, request.context);
  // A window may begin inside a block.
  return CeilDivide(tokens, block) + (layers.kind == Kind::kWindow ? 1 : 0);
}

double StateBytes(const CacheLayers& layers, const ServingRequest& request) {
  return static_cast<double>(layers.state_bytes) /
         static_cast<double>(request.tensor_parallel);
}

/// The pool as vLLM divides it: every block holds `block_bytes`, and a sequence
/// has `blocks` of them.
struct Paging {
  std::int64_t block_tokens = 0;
  double block_bytes = 0;
  std::int64_t blocks = 0;
};

/// All layers grow alike: a block has its tokens' part of every layer.
Paging UniformPaging(const Decoder& decoder, const ServingRequest& request) {
  Paging paging{.block_tokens = request.block};
  for (const CacheLayers& layers : decoder.layers) {
    paging.block_bytes += static_cast<double>(layers.layers * request.block) *
                          TokenBytes(layers, request);
    paging.blocks = BlocksOf(layers, request, request.block);
  }
  return paging;
}

/// Layers to a group, so that groups of every kind have equally many.
std::int64_t GroupSize(const Decoder& decoder) {
  const auto [least, most] = std::ranges::minmax(
      decoder.layers, {}, [](const CacheLayers& one) { return one.layers; });
  return 2 * most.layers < 3 * least.layers ? most.layers : least.layers;
}

/// Bytes of the largest page of one layer, and the tokens of the block that
/// attention then has: a state is one page, and pages are equally large.
Paging LargestPage(const Decoder& decoder, const ServingRequest& request) {
  Paging page{.block_tokens = request.block};
  double token_bytes = 0;
  double state_bytes = 0;
  for (const CacheLayers& layers : decoder.layers) {
    token_bytes = std::max(token_bytes, TokenBytes(layers, request));
    if (layers.kind == Kind::kState) {
      state_bytes = std::max(state_bytes, StateBytes(layers, request));
    }
  }
  if (token_bytes == 0) return {.block_tokens = 0, .block_bytes = state_bytes};
  const double block_bytes = token_bytes * static_cast<double>(request.block);
  page.block_tokens *= std::max<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(state_bytes / block_bytes)), 1);
  page.block_bytes = token_bytes * static_cast<double>(page.block_tokens);
  return page;
}

/// Kinds that grow differently share pages: groups of equally many layers, of
/// which each sequence has blocks of its own.
Paging GroupedPaging(const Decoder& decoder, const ServingRequest& request) {
  Paging paging = LargestPage(decoder, request);
  const std::int64_t group = GroupSize(decoder);
  const double page_bytes = paging.block_bytes;
  paging.block_bytes *= static_cast<double>(group);
  for (const CacheLayers& layers : decoder.layers) {
    // A layer with fewer bytes to a token has more tokens to a page.
    const double token_bytes = TokenBytes(layers, request);
    const std::int64_t block =
        token_bytes == 0 ? 1
                         : static_cast<std::int64_t>(page_bytes / token_bytes);
    paging.blocks +=
        CeilDivide(layers.layers, group) * BlocksOf(layers, request, block);
  }
  return paging;
}

Paging PageCache(const Decoder& decoder, const ServingRequest& request) {
  const CacheLayers& first = decoder.layers.front();
  const bool is_uniform =
      first.kind != Kind::kState &&
      std::ranges::all_of(decoder.layers, [&](const CacheLayers& one) {
        return (GrowsForever(first) && GrowsForever(one)) ||
               (one.kind == first.kind && one.window == first.window);
      });
  return is_uniform ? UniformPaging(decoder, request)
                    : GroupedPaging(decoder, request);
}

double WeightBytes(const Decoder& decoder, const ServingRequest& request) {
  const double words = static_cast<double>(decoder.vocabulary) *
                       static_cast<double>(decoder.width) *
                       (decoder.tied_head ? 1 : 2);
  const double others =
      std::max(static_cast<double>(request.parameters) - words, 0.0);
  return (words * kHalfBytes + others * BitsPerWeight(request.weights) / 8) /
         static_cast<double>(request.tensor_parallel);
}

/// Peak of the pass that vLLM runs before it sizes the pool: a feed-forward
/// part with its input and the residual, or the sampler.
double ActivationBytes(const Decoder& decoder, const ServingRequest& request) {
  const double inner = static_cast<double>(decoder.inner) /
                       static_cast<double>(request.tensor_parallel);
  const double layer = static_cast<double>(request.batched_tokens) *
                       (2.0 * static_cast<double>(decoder.width) + 3 * inner) *
                       kHalfBytes;
  const double sampler = static_cast<double>(request.sequences) *
                         static_cast<double>(decoder.vocabulary) *
                         kSamplerBytesPerLogit;
  return std::max(layer, sampler);
}

void CheckShares(const Decoder& decoder, const ServingRequest& request) {
  for (const CacheLayers& layers : decoder.layers) {
    const std::int64_t gpus = request.tensor_parallel;
    if (layers.kind == Kind::kState || layers.kind == Kind::kLatent) continue;
    if (layers.heads % gpus == 0 || gpus % layers.heads == 0) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} GPUs cannot share {} heads of keys and values "
                            "evenly",
                            gpus, layers.heads));
  }
}

}  // namespace

ServingPlan PlanServing(const Decoder& decoder, const ServingRequest& request) {
  CheckShares(decoder, request);
  ServingPlan plan;
  for (const CacheLayers& layers : decoder.layers) {
    const double count = static_cast<double>(layers.layers);
    const double bytes = count * TokenBytes(layers, request);
    if (GrowsForever(layers)) plan.token_bytes += bytes;
    plan.sequence_bytes +=
        layers.kind == Kind::kState
            ? count * StateBytes(layers, request)
            : bytes * static_cast<double>(KeptTokens(layers, request));
  }
  const Paging paging = PageCache(decoder, request);
  plan.block_tokens = paging.block_tokens;
  plan.allocated_bytes =
      paging.block_bytes * static_cast<double>(paging.blocks);
  if (request.usable_mib == 0 || request.parameters == 0) return plan;
  plan.weight_bytes = WeightBytes(decoder, request);
  plan.activation_bytes = ActivationBytes(decoder, request);
  plan.cache_bytes = request.usable_mib * static_cast<double>(kMiB) *
                         request.memory_utilization -
                     *plan.weight_bytes - plan.activation_bytes;
  const double blocks = std::floor(plan.cache_bytes / paging.block_bytes);
  plan.concurrency = std::max(blocks, 0.0) / static_cast<double>(paging.blocks);
  return plan;
}

}  // namespace foretell
