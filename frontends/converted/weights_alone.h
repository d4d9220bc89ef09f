#pragma once

#include <string>

namespace foretell::converted {

/// Throws Error(kUnsupported) if the file at `path` holds weights and no
/// network, by its ending: for a .safetensors file with the number of its
/// tensors, their elements and types from its header; kCorrupt if it has no
/// such header. Reads only the header. Does nothing for other files.
void RefuseWeightsAlone(const std::string& path);

}  // namespace foretell::converted
