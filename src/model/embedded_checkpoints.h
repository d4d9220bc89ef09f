#pragma once

#include <span>
#include <string_view>

namespace foretell::model {

/// A checkpoint that the library carries.
struct EmbeddedCheckpoint {
  std::string_view path;  ///< In the repository, for errors.
  std::string_view bytes;
};

std::span<const EmbeddedCheckpoint> EmbeddedCheckpoints();

}  // namespace foretell::model
