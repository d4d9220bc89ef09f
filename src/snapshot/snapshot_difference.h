#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/snapshot/memory_snapshot.h"

namespace foretell::snapshot {

/// Where the memory that `snapshot` recorded differs from that of `step`, a
/// document of pictures::StepToJson: "schema_version", "snapshot",
/// "prediction", "figures", "modules" and "unmatched", the largest differences
/// first. docs/json_output.md has the fields. `path` and `origin` name both
/// files. Throws Error(kCorrupt) that names `origin` for a document without the
/// fields that are read.
nlohmann::ordered_json SnapshotDifference(const MemorySnapshot& snapshot,
                                          const std::string& path,
                                          const nlohmann::ordered_json& step,
                                          const std::string& origin);

}  // namespace foretell::snapshot
