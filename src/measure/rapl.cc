#include "src/measure/rapl.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <system_error>

namespace foretell::measure {
namespace {

constexpr double kMicro = 1e-6;

Reading<std::int64_t> ReadNumber(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number) return Reading<std::int64_t>::Of(number);
  return Reading<std::int64_t>::Missing(
      fmt::format("RAPL: {}: cannot be read", file.string()));
}

/// Folders of whole packages: "intel-rapl:0", not its part "intel-rapl:0:1".
std::vector<std::filesystem::path> PackageFolders(
    const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> packages;
  std::error_code error;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("intel-rapl:")) continue;
    if (std::count(name.begin(), name.end(), ':') == 1) {
      packages.push_back(entry.path());
    }
  }
  std::sort(packages.begin(), packages.end());
  return packages;
}

}  // namespace

Reading<std::shared_ptr<RaplCounter>> RaplCounter::Open(
    const std::filesystem::path& folder) {
  using Result = Reading<std::shared_ptr<RaplCounter>>;
  std::vector<Package> packages;
  for (const std::filesystem::path& path : PackageFolders(folder)) {
    const Reading<std::int64_t> range =
        ReadNumber(path / "max_energy_range_uj");
    const Reading<std::int64_t> now = ReadNumber(path / "energy_uj");
    if (!range.value) return Result::Missing(range.reason);
    if (!now.value) return Result::Missing(now.reason);
    packages.push_back({path / "energy_uj", *range.value, *now.value});
  }
  if (packages.empty()) {
    return Result::Missing("RAPL: no package in " + folder.string());
  }
  return Result::Of(
      std::shared_ptr<RaplCounter>(new RaplCounter(std::move(packages))));
}

Reading<double> RaplCounter::ReadJ() {
  for (Package& package : packages_) {
    const Reading<std::int64_t> now = ReadNumber(package.file);
    if (!now.value) return Reading<double>::Missing(now.reason);
    const std::int64_t moved = *now.value - package.last_uj;
    total_uj_ += moved >= 0 ? moved : moved + package.range_uj;
    package.last_uj = *now.value;
  }
  return Reading<double>::Of(static_cast<double>(total_uj_) * kMicro);
}

}  // namespace foretell::measure
