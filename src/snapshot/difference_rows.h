#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "src/snapshot/predicted_step.h"

namespace foretell::snapshot {

/// The row of a tensor's module: "layers.*.mlp" of "layers.3.mlp", so that
/// blocks that repeat share one. What belongs to no module is named by its
/// role: "(optimizer_state)".
std::string ModuleRowOf(const PredictedTensor& tensor);

/// The key with the largest number; empty if there is none.
std::string MostOf(const std::map<std::string, std::int64_t>& bytes);

/// What is alive at the peaks of one module, in bytes.
struct ModuleRow {
  std::map<std::string, std::int64_t> places;  ///< Of the snapshot.
  std::int64_t recorded = 0;
  std::int64_t predicted = 0;
};

/// One object per row that is not empty: "module", "place", "snapshot_mib",
/// "predicted_mib"; the largest differences first.
nlohmann::ordered_json ModulesToJson(
    const std::map<std::string, ModuleRow>& rows);

/// Rows of which equal ones are counted.
class RepeatedRows {
 public:
  void Add(std::int64_t bytes, nlohmann::ordered_json fields);
  /// One object per different row, with "count", "mib" of one, and its fields;
  /// those that are most together first.
  nlohmann::ordered_json ToJson() const;

 private:
  struct Row {
    nlohmann::ordered_json fields;
    std::int64_t count = 0;
  };
  std::map<std::pair<std::int64_t, std::string>, Row> rows_;
};

}  // namespace foretell::snapshot
