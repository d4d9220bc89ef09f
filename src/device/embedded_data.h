#pragma once

#include <span>
#include <string_view>

namespace foretell::device {

/// A data file that was compiled into the library.
struct EmbeddedFile {
  std::string_view path;  ///< Below the source folder.
  std::string_view text;
};

/// data/devices/*.json in the order of src/device/CMakeLists.txt.
std::span<const EmbeddedFile> DeviceFiles();
/// data/environments.json.
const EmbeddedFile& EnvironmentFile();

}  // namespace foretell::device
