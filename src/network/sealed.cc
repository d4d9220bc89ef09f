#include "src/network/sealed.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>

#include "src/core/failure.h"

namespace foretell::learned {
namespace {

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

std::string MetadataOf(const SafeTensors& content, const std::string& key,
                       const std::string& origin) {
  const auto found = content.metadata.find(key);
  if (found != content.metadata.end()) return found->second;
  throw Corrupt("{}: not a checkpoint of foretell: no '{}' in __metadata__",
                origin, key);
}

void RefuseOtherSealed(const SafeTensors& content, const SealedKind& kind,
                       const std::string& origin) {
  if (content.metadata.contains(kind.key)) return;
  for (const SealedKind& other : {kSealedCheckpoint, kSealedClasses}) {
    if (!content.metadata.contains(other.key)) continue;
    throw Corrupt("{}: is {}, expected {}", origin, other.name, kind.name);
  }
}

void CheckHash(const SafeTensors& content, const std::string& origin) {
  const std::string written = MetadataOf(content, "hash", origin);
  const std::string found = HashOf(content);
  if (written == found) return;
  throw Corrupt("{}: content has the hash {}, expected {}", origin, found,
                written);
}

}  // namespace

std::string SerializeSealed(SafeTensors content) {
  content.metadata["hash"] = HashOf(content);
  return SerializeSafeTensors(content);
}

SafeTensors ParseSealed(std::string_view bytes, const SealedKind& kind,
                        const std::string& origin) {
  SafeTensors content = ParseSafeTensors(bytes, origin);
  RefuseOtherSealed(content, kind, origin);
  MetadataOf(content, kind.key, origin);
  CheckHash(content, origin);
  return content;
}

}  // namespace foretell::learned
