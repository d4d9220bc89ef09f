#include "src/snapshot/difference_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <vector>

#include "src/core/units.h"
#include "src/pictures/picture_json.h"

namespace foretell::snapshot {

std::string ModuleRowOf(const PredictedTensor& tensor) {
  if (tensor.module.empty()) {
    return fmt::format("({})", TensorRoleName(tensor.role));
  }
  std::string module;
  bool in_number = false;
  bool at_start = true;
  for (const char c : tensor.module) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    in_number = is_digit && (at_start || in_number);
    if (!in_number) module += c;
    if (in_number && at_start) module += '*';
    at_start = c == '.';
  }
  return module;
}

std::string MostOf(const std::map<std::string, std::int64_t>& bytes) {
  const auto most = std::ranges::max_element(
      bytes, {}, [](const auto& row) { return row.second; });
  return most == bytes.end() ? "" : most->first;
}

nlohmann::ordered_json ModulesToJson(
    const std::map<std::string, ModuleRow>& rows) {
  std::vector<std::pair<std::string, ModuleRow>> sorted(rows.begin(),
                                                        rows.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& row) {
    return std::abs(row.second.recorded - row.second.predicted);
  });
  auto list = nlohmann::ordered_json::array();
  for (const auto& [module, row] : sorted) {
    if (row.recorded == 0 && row.predicted == 0) continue;
    list.push_back({{"module", pictures::Clipped(module)},
                    {"place", pictures::Clipped(MostOf(row.places))},
                    {"snapshot_mib", pictures::Brief(ToMiB(row.recorded))},
                    {"predicted_mib", pictures::Brief(ToMiB(row.predicted))}});
  }
  return list;
}

void RepeatedRows::Add(std::int64_t bytes, nlohmann::ordered_json fields) {
  std::string text = fields.dump();
  Row& row = rows_[{bytes, std::move(text)}];
  row.fields = std::move(fields);
  ++row.count;
}

nlohmann::ordered_json RepeatedRows::ToJson() const {
  std::vector<std::pair<std::int64_t, nlohmann::ordered_json>> sorted;
  for (const auto& [key, row] : rows_) {
    const std::int64_t bytes = key.first;
    nlohmann::ordered_json json = {{"count", row.count},
                                   {"mib", pictures::Brief(ToMiB(bytes))}};
    json.update(row.fields);
    sorted.emplace_back(row.count * bytes, std::move(json));
  }
  std::ranges::stable_sort(sorted, std::greater{},
                           [](const auto& row) { return row.first; });
  auto list = nlohmann::ordered_json::array();
  for (auto& row : sorted) list.push_back(std::move(row.second));
  return list;
}

}  // namespace foretell::snapshot
