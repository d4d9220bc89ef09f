#include "src/device/local_gpu.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

namespace foretell::device {
namespace {

std::vector<std::filesystem::path> Folders(const std::filesystem::path& gpus) {
  std::error_code error;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(gpus, error)) {
    folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace

std::string LocalGpuModel(const std::filesystem::path& gpus) {
  constexpr std::string_view kField = "Model:";
  for (const std::filesystem::path& folder : Folders(gpus)) {
    std::ifstream information(folder / "information");
    for (std::string line; std::getline(information, line);) {
      if (!line.starts_with(kField)) continue;
      const std::size_t begin = line.find_first_not_of(" \t", kField.size());
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

}  // namespace foretell::device
