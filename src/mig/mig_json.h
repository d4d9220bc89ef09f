#pragma once

#include <nlohmann/json_fwd.hpp>

#include "foretell/mig.h"

namespace foretell::mig {

/// The document of FormatProfilesJson.
nlohmann::ordered_json ProfilesToJson(const DeviceSpec& device);

/// The document of FormatJson for a packing.
nlohmann::ordered_json PackingToJson(const Packing& packing);

}  // namespace foretell::mig
