// A checkpoint is a safetensors file, so that Python opens it and loading it
// runs nothing. safetensors itself has no checksum: a flipped bit in a weight
// would go unseen, and predictions would be off without a word. So the metadata
// carries a 64-bit FNV-1a hash over names, types, shapes, bytes and texts.

#include "src/network/checkpoint.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/json_object.h"
#include "src/core/units.h"
#include "src/network/checkpoint_json.h"

namespace foretell::learned {
namespace {

constexpr char kFormat[] = "foretell checkpoint";
constexpr std::string_view kOptimizerPrefix = "optimizer.";
/// More than any network of the sizes that checkpoint_json.cc lets pass is
/// trained with; its file is read whole.
constexpr std::int64_t kMaxCheckpointBytes = 4 * kGiB;

class Fnv1a {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    // Lengths too, so that "ab" + "c" is not "a" + "bc".
    hash_ = (hash_ ^ bytes.size()) * 0x100000001b3;
  }
  std::string Hex() const {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::string HashOf(const SafeTensors& content) {
  Fnv1a hash;
  for (const auto& [key, value] : content.metadata) {
    if (key == "hash") continue;
    hash.Add(key);
    hash.Add(value);
  }
  for (const auto& [name, tensor] : content.tensors) {
    hash.Add(name);
    hash.Add(tensor.dtype);
    for (const std::int64_t size : tensor.shape) {
      hash.Add(fmt::format("{}", size));
    }
    hash.Add(tensor.bytes);
  }
  return hash.Hex();
}

std::string MetadataOf(const SafeTensors& content, const char* key,
                       const std::string& origin) {
  const auto found = content.metadata.find(key);
  if (found != content.metadata.end()) return found->second;
  throw Error(
      ErrorCode::kCorrupt,
      fmt::format("{}: not a checkpoint of foretell: no '{}' in __metadata__",
                  origin, key));
}

void CheckHash(const SafeTensors& content, const std::string& origin) {
  const std::string written = MetadataOf(content, "hash", origin);
  const std::string found = HashOf(content);
  if (written == found) return;
  throw Error(ErrorCode::kCorrupt,
              fmt::format("{}: content has the hash {}, expected {}", origin,
                          found, written));
}

}  // namespace

std::string SerializeCheckpoint(const Checkpoint& checkpoint) {
  SafeTensors content{.tensors = checkpoint.weights};
  for (const auto& [name, tensor] : checkpoint.optimizer) {
    content.tensors[fmt::format("{}{}", kOptimizerPrefix, name)] = tensor;
  }
  content.metadata["format"] = kFormat;
  content.metadata["checkpoint"] = InfoToJson(checkpoint.info).dump();
  if (!checkpoint.training.empty()) {
    content.metadata["training"] = checkpoint.training;
  }
  content.metadata["hash"] = HashOf(content);
  return SerializeSafeTensors(content);
}

Checkpoint ParseCheckpoint(std::string_view bytes, const std::string& origin) {
  SafeTensors content = ParseSafeTensors(bytes, origin);
  const std::string description = MetadataOf(content, "checkpoint", origin);
  CheckHash(content, origin);
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
