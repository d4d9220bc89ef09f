// A checkpoint is a safetensors file, so that Python opens it and loading it
// runs nothing. It is sealed: a flipped bit in a weight would otherwise go
// unseen, and predictions would be off without a word.

#include "src/network/checkpoint.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/files.h"
#include "src/core/json_object.h"
#include "src/core/units.h"
#include "src/network/checkpoint_json.h"
#include "src/network/sealed.h"

namespace foretell::learned {
namespace {

constexpr char kFormat[] = "foretell checkpoint";
constexpr std::string_view kOptimizerPrefix = "optimizer.";
/// More than any network of the sizes that checkpoint_json.cc lets pass is
/// trained with; its file is read whole.
constexpr std::int64_t kMaxCheckpointBytes = 4 * kGiB;

}  // namespace

std::optional<TermDrift> CheckpointInfo::Drift() const {
  if (!recipe.terms || !probe) return std::nullopt;
  return DriftOf(*probe, ProbeTerms(recipe, devices));
}

std::string SerializeCheckpoint(const Checkpoint& checkpoint) {
  SafeTensors content{.tensors = checkpoint.weights};
  for (const auto& [name, tensor] : checkpoint.optimizer) {
    content.tensors[fmt::format("{}{}", kOptimizerPrefix, name)] = tensor;
  }
  content.metadata["format"] = kFormat;
  content.metadata[kSealedCheckpoint.key] = InfoToJson(checkpoint.info).dump();
  if (!checkpoint.training.empty()) {
    content.metadata["training"] = checkpoint.training;
  }
  return SerializeSealed(std::move(content));
}

Checkpoint ParseCheckpoint(std::string_view bytes, const std::string& origin) {
  SafeTensors content = ParseSealed(bytes, kSealedCheckpoint, origin);
  const std::string& description = content.metadata.at(kSealedCheckpoint.key);
  Checkpoint checkpoint;
  checkpoint.info = InfoFromJson(ParseJson(description, origin), origin);
  for (auto& [name, tensor] : content.tensors) {
    if (name.starts_with(kOptimizerPrefix)) {
      checkpoint.optimizer[name.substr(kOptimizerPrefix.size())] =
          std::move(tensor);
    } else {
      checkpoint.weights[name] = std::move(tensor);
    }
  }
  const auto training = content.metadata.find("training");
  if (training != content.metadata.end())
    checkpoint.training = training->second;
  return checkpoint;
}

Checkpoint ReadCheckpoint(const std::string& path) {
  return ParseCheckpoint(ReadFile(path, kMaxCheckpointBytes), path);
}

}  // namespace foretell::learned
