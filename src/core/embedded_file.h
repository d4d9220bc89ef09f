#pragma once

#include <span>
#include <string_view>

namespace foretell {

/// A file of the repository that was compiled into the library; foretell_embed
/// (cmake/ForetellTargets.cmake) generates functions that return a span of
/// them.
struct EmbeddedFile {
  std::string_view path;   ///< Below the source folder, for errors.
  std::string_view bytes;  ///< Its content.
};

}  // namespace foretell
