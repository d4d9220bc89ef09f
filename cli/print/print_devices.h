#pragma once

#include <string>

#include "foretell/device.h"

namespace foretell::cli {

/// Two tables: devices, and environments with their CUDA contexts.
std::string FormatDevicesTable(const DeviceCatalog& catalog);

/// The same as a JSON document with the fields of docs/json_output.md.
std::string FormatDevicesJson(const DeviceCatalog& catalog);

}  // namespace foretell::cli
