#include "cli/commands/completion_values.h"

#include <set>
#include <sstream>

#include "foretell/device.h"
#include "foretell/zoo.h"

namespace foretell::cli {
namespace {

/// "meta" and "cpu" of "TEXT:{meta,cpu}", as CLI11 names the type of a flag
/// that takes one of a list.
std::vector<std::string> ListedNames(const std::string& type) {
  const std::size_t begin = type.find(":{");
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::istringstream list(type.substr(begin + 2, end - begin - 2));
  std::vector<std::string> names;
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names;
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    names.push_back(device.name);
  }
  return names;
}

std::vector<std::string> ProfileNames() {
  std::set<std::string> names;
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    for (const MigProfile& profile : device.mig_profiles) {
      names.insert(profile.name);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names = zoo::Names();
  for (std::string& name : names) name.insert(0, zoo::kPrefix);
  return names;
}

struct ValueRow {
  std::string_view name;
  std::vector<std::string> (*values)();
};

constexpr ValueRow kRows[] = {{"MODEL", &NetworkNames},
                              {"device", &DeviceNames},
                              {"devices", &DeviceNames},
                              {"profile", &ProfileNames}};

}  // namespace

std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string name = option.get_lnames().empty()
                               ? option.get_single_name()
                               : option.get_lnames().front();
  for (const ValueRow& row : kRows) {
    if (row.name == name) return row.values();
  }
  return ListedNames(option.get_type_name());
}

std::vector<std::string> LongFlags(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_lnames()) {
    flags.push_back("--" + name);
  }
  return flags;
}

}  // namespace foretell::cli
