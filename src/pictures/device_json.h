#pragma once

#include <nlohmann/json_fwd.hpp>

#include "foretell/device.h"

namespace foretell::pictures {

/// Data of a device for charts: memory, roofs, the table of MIG profiles;
/// docs/json_output.md has the fields.
nlohmann::ordered_json DeviceToJson(const DeviceSpec& device);

}  // namespace foretell::pictures
