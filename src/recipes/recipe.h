#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::recipes {

/// The linear layers of a block, by the names that transformers, diffusers and
/// timm give them; heads and embeddings have others.
inline constexpr std::string_view kBlockLayers =
    "_proj|c_attn|c_fc|query|key|value|dense|fc[12]|qkv|out_lin|[qkv]_lin|"
    "lin[12]|to_[qkv]|to_out|w[123]";

/// A flag of `foretell finetune`.
struct RecipeFlag {
  std::string name;
  std::string value = {};  ///< Empty for a switch.

  bool operator==(const RecipeFlag&) const = default;
};

/// What configuration files of training tools state, as a command line.
struct Recipe {
  std::string tools;  ///< "axolotl 0.18.0", separated by commas.
  std::string model;  ///< Name or path of the network; empty: not stated.
  std::vector<RecipeFlag> flags;
  /// Keys that change memory and are not predicted, and unknown ones, as
  /// "key=value", some with the reason.
  std::vector<std::string> left_out;
};

/// Reads the files at `paths`, which describe one run together: training
/// arguments, an adapter, DeepSpeed. A missing key has the default of its tool,
/// in the version that Recipe::tools states, unless another file states it.
/// `gpus`: how many GPUs the run has; empty: as a file states, else one.
///
/// Throws Error that names the file, the key and both values: kCorrupt for a
/// file that is not valid YAML, JSON or TOML or has a value of the wrong type,
/// kUnsupported for a format or a method of training that is not known, and
/// kInvalidArgument if two keys contradict each other; and what ReadText
/// throws.
Recipe ReadRecipe(std::span<const std::string> paths,
                  std::optional<int> gpus = {});

}  // namespace foretell::recipes
