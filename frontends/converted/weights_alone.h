#pragma once

#include <string>

namespace foretell::converted {

/// Throws Error(kUnsupported) where the file at `path` holds weights and no
/// network, by its ending: of a .safetensors file with the number of its
/// tensors, their elements and types, as its header has them; kCorrupt where it
/// has no such header. Reads the header alone. Does nothing for other files.
void RefuseWeightsAlone(const std::string& path);

}  // namespace foretell::converted
