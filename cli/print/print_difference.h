#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace foretell::cli {

/// The document of pictures::DifferenceToJson as text, within 80 columns: both
/// settings, the figures, and the first `most` modules that changed.
std::string FormatDifference(const nlohmann::ordered_json& difference,
                             std::size_t most);

}  // namespace foretell::cli
