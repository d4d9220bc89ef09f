#pragma once

#include <nlohmann/json_fwd.hpp>

#include "foretell/mig.h"

namespace foretell::mig {

/// What FormatProfilesJson writes, as a document to put elsewhere.
nlohmann::ordered_json ProfilesToJson(const DeviceSpec& device);

/// What FormatJson writes of a packing, as a document to put elsewhere.
nlohmann::ordered_json PackingToJson(const Packing& packing);

}  // namespace foretell::mig
