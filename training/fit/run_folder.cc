#include "training/fit/run_folder.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "src/page/html_page.h"

namespace foretell::training {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxMetricsBytes = std::int64_t{1} << 30;

}  // namespace

RunFolder::RunFolder(std::string path, bool fresh) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  std::error_code failure;
  std::filesystem::create_directories(path_, failure);
  if (failure) {
    throw IoFailure("{}: cannot be made: {}", path_, failure.message());
  }
  if (fresh && HasRun(path_)) {
    throw InvalidArgument(
        "{}: already has a run; continue it with --resume, or choose another "
        "folder",
        path_);
  }
}

bool RunFolder::HasRun(const std::string& path) {
  return std::filesystem::exists(LastPath(path));
}

void RunFolder::KeepMetrics(std::int64_t epochs) {
  lines_.clear();
  std::istringstream file(
      ReadFileIfAny(metrics_path(), kMaxMetricsBytes).value_or(""));
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.value("epoch", Json()).is_number_integer() ||
        json["epoch"].get<std::int64_t>() > epochs) {
      continue;
    }
    text += line + "\n";
    lines_.push_back(std::move(line));
  }
  WriteWhole(metrics_path(), text);
}

void RunFolder::AddMetrics(const EpochMetrics& metrics) {
  const std::string line = EpochToJson(metrics).dump();
  std::ofstream file(metrics_path(), std::ios::app);
  file << line << '\n' << std::flush;
  if (!file) throw IoFailure("{}: cannot be written", metrics_path());
  lines_.push_back(line);
}

void RunFolder::WriteCurves() const {
  auto epochs = nlohmann::ordered_json::array();
  for (const std::string& line : lines_) {
    epochs.push_back(nlohmann::ordered_json::parse(line));
  }
  WriteWhole(curves_path(), HtmlPage(PageView::kTraining, "foretell train",
                                     {{"epochs", std::move(epochs)}}));
}

}  // namespace foretell::training
