#pragma once

#include <string>
#include <string_view>

#include "src/network/safetensors.h"

namespace foretell::learned {

/// The bytes of a safetensors file with a 64-bit FNV-1a hash over names, types,
/// shapes, bytes and texts in its metadata. safetensors itself has no checksum:
/// a flipped bit in a weight would go unseen.
std::string SerializeSealed(SafeTensors content);

/// Reads such bytes, of a file that has `key` in its metadata; `origin` names
/// it in errors. Throws what ParseSafeTensors throws, and Error(kCorrupt) for a
/// file without the key or with another hash.
SafeTensors ParseSealed(std::string_view bytes, const std::string& key,
                        const std::string& origin);

}  // namespace foretell::learned
