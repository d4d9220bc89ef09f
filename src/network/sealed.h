#pragma once

#include <string>
#include <string_view>

#include "src/network/safetensors.h"

namespace foretell::learned {

/// What a sealed file holds, by the key of its metadata that has the rest.
struct SealedKind {
  const char* key;
  const char* name;  ///< In errors.
};

inline constexpr SealedKind kSealedCheckpoint = {
    "checkpoint", "a checkpoint of `foretell train`"};
inline constexpr SealedKind kSealedClasses = {
    "memory_classes", "classes of `foretell memory-classes`"};

/// The bytes of a safetensors file with a 64-bit FNV-1a hash over names, types,
/// shapes, bytes and texts in its metadata. safetensors itself has no checksum:
/// a flipped bit in a weight would go unseen.
std::string SerializeSealed(SafeTensors content);

/// Reads such bytes, of a file that is of `kind`; `origin` names it in errors.
/// Throws what ParseSafeTensors throws, and Error(kCorrupt) for a file of
/// another or no kind, or with another hash.
SafeTensors ParseSealed(std::string_view bytes, const SealedKind& kind,
                        const std::string& origin);

}  // namespace foretell::learned
