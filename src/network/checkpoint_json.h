#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/core/json_fields.h"
#include "src/network/checkpoint.h"

namespace foretell::learned {

/// Options in a document; refuses sizes beyond anything sensible.
void DescribeNetwork(JsonFields& fields, NetworkOptions& options);

nlohmann::json InfoToJson(const CheckpointInfo& info);
/// Throws Error(kCorrupt) that names `origin`, the field and its value, and
/// Error(kUnsupported) for a newer schema or another feature version.
CheckpointInfo InfoFromJson(const nlohmann::json& json,
                            const std::string& origin);

}  // namespace foretell::learned
