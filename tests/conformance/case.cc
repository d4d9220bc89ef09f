#include "tests/conformance/case.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <tuple>

#include "foretell/error.h"

namespace foretell::conformance {
namespace {

namespace fs = std::filesystem;

std::regex Compile(const std::string& filter) {
  try {
    return std::regex(filter);
  } catch (const std::regex_error&) {
    throw Error(ErrorCode::kInvalidArgument,
                "'" + filter + "' is not a regular expression");
  }
}

void AddGroup(const fs::path& group, const std::regex& filter,
              std::vector<Case>& cases) {
  for (const fs::directory_entry& entry : fs::directory_iterator(group)) {
    Case found{.group = group.filename().string(),
               .name = entry.path().filename().string(),
               .folder = entry.path()};
    if (fs::exists(found.ModelPath()) &&
        std::regex_search(found.group + "/" + found.name, filter)) {
      cases.push_back(std::move(found));
    }
  }
}

}  // namespace

std::vector<fs::path> Case::DataSets() const {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() &&
        entry.path().filename().string().starts_with("test_data_set")) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Tolerance Case::ReadTolerance() const {
  const fs::path path = folder / "data.json";
  std::ifstream file(path);
  if (!file) return {};
  const nlohmann::json data = nlohmann::json::parse(file, nullptr, false);
  if (!data.is_object()) {
    throw Error(ErrorCode::kCorrupt, path.string() + ": not a JSON object");
  }
  const Tolerance standard;
  return {.rtol = data.value("rtol", standard.rtol),
          .atol = data.value("atol", standard.atol)};
}

std::vector<fs::path> NumberedFiles(const fs::path& data_set,
                                    const std::string& prefix) {
  std::vector<fs::path> files;
  while (true) {
    fs::path next =
        data_set / (prefix + "_" + std::to_string(files.size()) + ".pb");
    if (!fs::exists(next)) return files;
    files.push_back(std::move(next));
  }
}

std::vector<Case> FindCases(const fs::path& root, const std::string& filter) {
  if (!fs::is_directory(root)) {
    throw Error(ErrorCode::kNotFound, root.string() + ": not a folder");
  }
  const std::regex expression = Compile(filter);
  std::vector<Case> cases;
  for (const fs::directory_entry& group : fs::directory_iterator(root)) {
    if (group.is_directory()) AddGroup(group.path(), expression, cases);
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::tie(a.group, a.name) < std::tie(b.group, b.name);
  });
  return cases;
}

}  // namespace foretell::conformance
