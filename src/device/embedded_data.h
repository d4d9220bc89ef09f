#pragma once

#include "src/core/embedded_file.h"

namespace foretell::device {

/// data/devices/*.json in the order of src/device/CMakeLists.txt.
std::span<const EmbeddedFile> DeviceFiles();
/// data/environments.json alone.
std::span<const EmbeddedFile> EnvironmentFiles();

}  // namespace foretell::device
