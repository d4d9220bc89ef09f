#include "datasets/zoo/hub_towers.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "src/core/failure.h"
#include "src/core/parse_json.h"

namespace foretell::zoo {
namespace {

using TowerJson = nlohmann::json;

/// With larger sizes the products below could exceed 64 bits.
constexpr std::int64_t kLargestTowerSize = 1 << 15;
constexpr std::int64_t kLargestPatch = 1 << 10;  ///< Edge in pixels.
constexpr std::int64_t kMostMerged = 16;         ///< Patches of an edge.
constexpr std::size_t kMostMergers = 1000;

[[noreturn]] void RefuseTowerKey(const char* key, const TowerJson& value,
                                 const std::string& expected) {
  throw Corrupt("{} is {}, expected {}", key, ShowJson(value), expected);
}

/// Null if the key is missing or null.
const TowerJson* FindTowerKey(const TowerJson& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t TowerNumber(const TowerJson& config, const char* key,
                         std::int64_t absent,
                         std::int64_t most = kLargestTowerSize) {
  const TowerJson* value = FindTowerKey(config, key);
  if (value == nullptr) return absent;
  if (!value->is_number_integer() || *value < 1 || *value > most) {
    RefuseTowerKey(key, *value, fmt::format("an integer from 1 to {}", most));
  }
  return value->get<std::int64_t>();
}

TowerJson VisionOf(const TowerJson& config) {
  constexpr const char* kKey = "vision_config";
  const TowerJson* value = FindTowerKey(config, kKey);
  if (value == nullptr) return TowerJson::object();
  if (!value->is_object()) RefuseTowerKey(kKey, *value, "an object");
  return *value;
}

std::int64_t LinearNumbers(std::int64_t in, std::int64_t out) {
  return in * out + out;
}

/// Sizes that all towers have.
struct TowerSizes {
  std::int64_t width = 0;
  std::int64_t depth = 0;
  std::int64_t inner = 0;
  std::int64_t patch = 0;  ///< Edge in pixels.
  std::int64_t image = 0;  ///< Edge in pixels; 0: places are not by patch.

  /// A block with two layer norms, attention and two layers, with biases.
  std::int64_t PlainBlock() const {
    return 4 * width + 4 * LinearNumbers(width, width) +
           LinearNumbers(width, inner) + LinearNumbers(inner, width);
  }
  std::int64_t PatchWeights() const { return 3 * patch * patch * width; }
  /// Patches of an image.
  std::int64_t Patches() const { return (image / patch) * (image / patch); }
};

TowerSizes SizesOf(const TowerJson& vision, const TowerSizes& absent) {
  TowerSizes sizes = absent;
  sizes.width = TowerNumber(vision, "hidden_size", absent.width);
  sizes.depth = TowerNumber(vision, "num_hidden_layers", absent.depth);
  sizes.inner = TowerNumber(vision, "intermediate_size", absent.inner);
  sizes.patch = TowerNumber(vision, "patch_size", absent.patch, kLargestPatch);
  sizes.image = TowerNumber(vision, "image_size", absent.image);
  return sizes;
}

bool HasPoolingHead(const TowerJson& vision) {
  constexpr const char* kKey = "vision_use_head";
  const TowerJson* value = FindTowerKey(vision, kKey);
  if (value == nullptr) return true;
  if (!value->is_boolean()) RefuseTowerKey(kKey, *value, "true or false");
  return value->get<bool>();
}

/// SigLIP, with its pooling head unless vision_use_head is false.
std::int64_t CountGemma3(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const TowerSizes at = SizesOf(vision, {768, 12, 3072, 16, 224});
  std::int64_t count = at.PatchWeights() + at.width + at.Patches() * at.width +
                       at.depth * at.PlainBlock() + 2 * at.width;
  if (HasPoolingHead(vision)) {
    count += at.PlainBlock() - at.width;  // A probe instead of a norm.
  }
  return count + at.width * text_width + at.width;
}

/// CLIP, and two layers between it and the decoder.
std::int64_t CountLlava(const TowerJson& config, std::int64_t text_width) {
  const TowerSizes at = SizesOf(VisionOf(config), {1024, 24, 4096, 14, 336});
  return at.width + at.PatchWeights() + (at.Patches() + 1) * at.width +
         4 * at.width + at.depth * at.PlainBlock() +
         LinearNumbers(at.width, text_width) +
         LinearNumbers(text_width, text_width);
}

std::int64_t CountLlavaNext(const TowerJson& config, std::int64_t text_width) {
  return CountLlava(config, text_width) + text_width;  // Ends of image rows.
}

/// Pixtral, and a merger of neighbouring patches.
std::int64_t CountMistral3(const TowerJson& config, std::int64_t text_width) {
  const TowerSizes at = SizesOf(VisionOf(config), {1024, 24, 4096, 14, 1540});
  const std::int64_t merged =
      TowerNumber(config, "spatial_merge_size", 2, kMostMerged);
  const std::int64_t block =
      2 * at.width + 4 * at.width * at.width + 3 * at.width * at.inner;
  const std::int64_t tower = at.PatchWeights() + at.width + at.depth * block;
  return tower + at.width + merged * merged * at.width * at.width +
         at.width * text_width + text_width * text_width;
}

/// What Qwen's towers have besides the sizes of all.
struct QwenTower {
  TowerSizes at;
  std::int64_t frames;
  std::int64_t merged;  ///< Width of the patches that become one.

  std::int64_t PatchWeights() const { return frames * at.PatchWeights(); }
  std::int64_t Attention() const {
    return LinearNumbers(at.width, 3 * at.width) +
           LinearNumbers(at.width, at.width);
  }
  std::int64_t Merger(std::int64_t out) const {
    return LinearNumbers(merged, merged) + LinearNumbers(merged, out);
  }
};

QwenTower QwenTowerOf(const TowerJson& vision, std::int64_t width,
                      const TowerSizes& absent) {
  QwenTower tower = {.at = absent};
  tower.at.width = width;
  tower.at.depth = TowerNumber(vision, "depth", absent.depth);
  tower.at.inner = TowerNumber(vision, "intermediate_size", absent.inner);
  tower.at.patch =
      TowerNumber(vision, "patch_size", absent.patch, kLargestPatch);
  tower.frames = TowerNumber(vision, "temporal_patch_size", 2);
  const std::int64_t side =
      TowerNumber(vision, "spatial_merge_size", 2, kMostMerged);
  tower.merged = side * side * width;
  return tower;
}

std::int64_t CountQwen2Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "embed_dim", 1280);
  QwenTower tower = QwenTowerOf(vision, width, {.depth = 32, .patch = 14});
  tower.at.inner = width * TowerNumber(vision, "mlp_ratio", 4);
  const std::int64_t out = TowerNumber(vision, "hidden_size", text_width);
  return tower.PatchWeights() + tower.at.depth * tower.at.PlainBlock() +
         2 * width + tower.Merger(out);
}

std::int64_t CountQwen25Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "hidden_size", 1280);
  const QwenTower tower =
      QwenTowerOf(vision, width, {.depth = 32, .inner = 3420, .patch = 14});
  const std::int64_t inner = tower.at.inner;
  const std::int64_t block = 2 * width + tower.Attention() +
                             2 * LinearNumbers(width, inner) +
                             LinearNumbers(inner, width);
  const std::int64_t out = TowerNumber(vision, "out_hidden_size", text_width);
  return tower.PatchWeights() + tower.at.depth * block + width +
         tower.Merger(out);
}

/// Without the mergers of Qwen3-VL's deeper layers, which Qwen3.5 has not.
std::int64_t CountQwen35(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "hidden_size", 1152);
  const QwenTower tower =
      QwenTowerOf(vision, width, {.depth = 27, .inner = 4304, .patch = 16});
  const std::int64_t places =
      TowerNumber(vision, "num_position_embeddings", 2304) * width;
  const std::int64_t out = TowerNumber(vision, "out_hidden_size", text_width);
  return tower.PatchWeights() + width + places +
         tower.at.depth * tower.at.PlainBlock() + 2 * width + tower.Merger(out);
}

std::int64_t CountQwen3Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "hidden_size", 1152);
  const QwenTower tower =
      QwenTowerOf(vision, width, {.depth = 27, .inner = 4304, .patch = 16});
  constexpr const char* kDeepKey = "deepstack_visual_indexes";
  const TowerJson* deep = FindTowerKey(vision, kDeepKey);
  if (deep != nullptr && (!deep->is_array() || deep->size() > kMostMergers)) {
    RefuseTowerKey(kDeepKey, *deep, "a list of layers");
  }
  const std::int64_t mergers =
      deep == nullptr ? 3 : static_cast<std::int64_t>(deep->size());
  const std::int64_t out = TowerNumber(vision, "out_hidden_size", text_width);
  return CountQwen35(config, text_width) +
         mergers * (2 * tower.merged + tower.Merger(out));
}

constexpr HubTower kTowers[] = {
    {"gemma3", "gemma3_text", &CountGemma3},
    {"mistral3", "mistral", &CountMistral3},
    {"llava", "llama", &CountLlava},
    {"llava_next", "llama", &CountLlavaNext},
    {"qwen2_vl", "qwen2_vl_text", &CountQwen2Vl},
    {"qwen2_5_vl", "qwen2_5_vl_text", &CountQwen25Vl},
    {"qwen3_vl", "qwen3_vl_text", &CountQwen3Vl},
    {"qwen3_vl_moe", "qwen3_vl_moe_text", &CountQwen3Vl},
    {"qwen3_5", "qwen3_5_text", &CountQwen35},
    {"qwen3_5_moe", "qwen3_5_moe_text", &CountQwen35},
};

}  // namespace

const HubTower* FindHubTower(std::string_view model_type) {
  const auto* const found =
      std::ranges::find(kTowers, model_type, &HubTower::model_type);
  return found == std::end(kTowers) ? nullptr : found;
}

}  // namespace foretell::zoo
