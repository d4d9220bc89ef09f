#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/network/checkpoint.h"

namespace foretell::learned {

nlohmann::json NetworkToJson(const NetworkOptions& options);
/// Throws Error(kCorrupt) that names `origin`, the field and its value; sizes
/// beyond anything sensible are refused.
NetworkOptions NetworkFromJson(const nlohmann::json& json,
                               const std::string& origin);

nlohmann::json InfoToJson(const CheckpointInfo& info);
/// As NetworkFromJson; throws Error(kUnsupported) for a newer schema or another
/// feature version.
CheckpointInfo InfoFromJson(const nlohmann::json& json,
                            const std::string& origin);

}  // namespace foretell::learned
