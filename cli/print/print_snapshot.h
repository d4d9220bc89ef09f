#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace foretell::cli {

/// The document of snapshot::SnapshotDifference as text: what was recorded, the
/// figures, and of modules and of blocks without a counterpart the first
/// `most`.
std::string FormatSnapshotDifference(const nlohmann::ordered_json& difference,
                                     std::size_t most);

}  // namespace foretell::cli
