#include "datasets/zoo/hub_towers.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace foretell::zoo {
namespace {

using TowerJson = nlohmann::json;

std::int64_t TowerNumber(const TowerJson& config, const char* key,
                         std::int64_t absent) {
  const auto found = config.find(key);
  const bool is_number = found != config.end() && found->is_number_integer();
  return is_number ? found->get<std::int64_t>() : absent;
}

TowerJson VisionOf(const TowerJson& config) {
  return config.value("vision_config", TowerJson::object());
}

std::int64_t LinearNumbers(std::int64_t in, std::int64_t out) {
  return in * out + out;
}

/// Sizes that all towers have.
struct TowerSizes {
  std::int64_t width;
  std::int64_t depth;
  std::int64_t inner;
  std::int64_t patch;
  std::int64_t patches;  ///< Of an image.

  /// A block with two layer norms, attention and two layers, with biases.
  std::int64_t PlainBlock() const {
    return 4 * width + 4 * LinearNumbers(width, width) +
           LinearNumbers(width, inner) + LinearNumbers(inner, width);
  }
  std::int64_t PatchWeights() const { return 3 * patch * patch * width; }
};

TowerSizes SizesOf(const TowerJson& vision, const TowerSizes& absent) {
  TowerSizes sizes = absent;
  sizes.width = TowerNumber(vision, "hidden_size", absent.width);
  sizes.depth = TowerNumber(vision, "num_hidden_layers", absent.depth);
  sizes.inner = TowerNumber(vision, "intermediate_size", absent.inner);
  sizes.patch = TowerNumber(vision, "patch_size", absent.patch);
  const std::int64_t image = TowerNumber(vision, "image_size", absent.patches);
  const std::int64_t side = sizes.patch == 0 ? 0 : image / sizes.patch;
  sizes.patches = side * side;
  return sizes;
}

/// SigLIP, with its pooling head unless vision_use_head is false.
std::int64_t CountGemma3(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const TowerSizes at = SizesOf(vision, {768, 12, 3072, 16, 224});
  std::int64_t count = at.PatchWeights() + at.width + at.patches * at.width +
                       at.depth * at.PlainBlock() + 2 * at.width;
  if (vision.value("vision_use_head", true)) {
    count += at.PlainBlock() - at.width;  // A probe instead of a norm.
  }
  return count + at.width * text_width + at.width;
}

/// CLIP, and two layers between it and the decoder.
std::int64_t CountLlava(const TowerJson& config, std::int64_t text_width) {
  const TowerSizes at = SizesOf(VisionOf(config), {1024, 24, 4096, 14, 336});
  return at.width + at.PatchWeights() + (at.patches + 1) * at.width +
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
  const std::int64_t merged = TowerNumber(config, "spatial_merge_size", 2);
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
  tower.at.patch = TowerNumber(vision, "patch_size", absent.patch);
  tower.frames = TowerNumber(vision, "temporal_patch_size", 2);
  const std::int64_t side = TowerNumber(vision, "spatial_merge_size", 2);
  tower.merged = side * side * width;
  return tower;
}

std::int64_t CountQwen2Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "embed_dim", 1280);
  QwenTower tower = QwenTowerOf(vision, width, {0, 32, 0, 14, 0});
  tower.at.inner = width * TowerNumber(vision, "mlp_ratio", 4);
  const std::int64_t out = TowerNumber(vision, "hidden_size", text_width);
  return tower.PatchWeights() + tower.at.depth * tower.at.PlainBlock() +
         2 * width + tower.Merger(out);
}

std::int64_t CountQwen25Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "hidden_size", 1280);
  const QwenTower tower = QwenTowerOf(vision, width, {0, 32, 3420, 14, 0});
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
  const QwenTower tower = QwenTowerOf(vision, width, {0, 27, 4304, 16, 0});
  const std::int64_t places =
      TowerNumber(vision, "num_position_embeddings", 2304) * width;
  const std::int64_t out = TowerNumber(vision, "out_hidden_size", text_width);
  return tower.PatchWeights() + width + places +
         tower.at.depth * tower.at.PlainBlock() + 2 * width + tower.Merger(out);
}

std::int64_t CountQwen3Vl(const TowerJson& config, std::int64_t text_width) {
  const TowerJson vision = VisionOf(config);
  const std::int64_t width = TowerNumber(vision, "hidden_size", 1152);
  const QwenTower tower = QwenTowerOf(vision, width, {0, 27, 4304, 16, 0});
  const auto deep = vision.find("deepstack_visual_indexes");
  const std::int64_t mergers =
      deep == vision.end() ? 3 : static_cast<std::int64_t>(deep->size());
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
