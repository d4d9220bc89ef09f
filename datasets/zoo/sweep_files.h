#pragma once

#include <span>
#include <string_view>

namespace foretell::zoo {

/// A file of datasets/sweeps that was compiled into the library.
struct SweepFile {
  std::string_view name;  ///< "dippm.json".
  std::string_view text;
};

std::span<const SweepFile> SweepFiles();

}  // namespace foretell::zoo
