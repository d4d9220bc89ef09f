#pragma once

#include <string>
#include <string_view>

#include "src/core/descriptor.h"

namespace foretell::cli {

/// A file that lies in memory, as long as this lives, and the path that opens
/// it: for bytes that no folder has.
class MemoryFile {
 public:
  /// Throws Error(kIo) where there is no memory for it.
  explicit MemoryFile(std::string_view bytes);

  std::string path() const;

 private:
  Descriptor descriptor_;
};

}  // namespace foretell::cli
