#pragma once

#include <string>
#include <string_view>

#include "src/core/descriptor.h"

namespace foretell::cli {

/// An in-memory file with a path, which lives as long as this object.
class MemoryFile {
 public:
  /// Throws Error(kIo) if there is no memory for it.
  explicit MemoryFile(std::string_view bytes);

  std::string path() const;

 private:
  Descriptor descriptor_;
};

}  // namespace foretell::cli
