#pragma once

#include <string>
#include <string_view>

#include "src/core/descriptor.h"

namespace foretell::cli {

/// A file that is in memory for as long as this object lives, and the path that
/// opens it: for bytes that are in no folder.
class MemoryFile {
 public:
  /// Throws Error(kIo) where there is no memory for it.
  explicit MemoryFile(std::string_view bytes);

  std::string path() const;

 private:
  Descriptor descriptor_;
};

}  // namespace foretell::cli
