#include "training/fit/run_folder.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "training/fit/line_chart.h"

namespace foretell::training {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxMetricsBytes = std::int64_t{1} << 30;

struct CurveRow {
  const char* title;
  const char* field;  ///< Within "train" and "validation".
};

constexpr std::array<CurveRow, 5> kCurves = {{{"Loss", "loss"},
                                              {"MAPE, all targets", "mape"},
                                              {"MAPE, memory", "mape_memory"},
                                              {"MAPE, latency", "mape_latency"},
                                              {"MAPE, energy", "mape_energy"}}};

void AddPoint(const Json& line, const char* part, const char* field,
              ChartLine& curve) {
  if (!line.contains(part) || !line[part].is_object()) return;
  const Json value = line[part].value(field, Json());
  if (!value.is_number()) return;
  curve.points.emplace_back(line.value("epoch", 0.0), value.get<double>());
}

LineChart CurveOf(const std::vector<Json>& lines, const CurveRow& row) {
  LineChart chart{.title = row.title, .x_name = "epoch"};
  for (const char* part : {"train", "validation"}) {
    ChartLine curve{.name = part};
    for (const Json& line : lines) AddPoint(line, part, row.field, curve);
    if (!curve.points.empty()) chart.lines.push_back(std::move(curve));
  }
  return chart;
}

LineChart RateCurve(const std::vector<Json>& lines) {
  ChartLine curve{.name = "learning rate"};
  for (const Json& line : lines) {
    const Json rate = line.value("learning_rate", Json());
    if (!rate.is_number()) continue;
    curve.points.emplace_back(line.value("epoch", 0.0), rate.get<double>());
  }
  return {.title = "Learning rate", .x_name = "epoch", .lines = {curve}};
}

}  // namespace

RunFolder::RunFolder(std::string path, bool fresh) : path_(std::move(path)) {
  std::error_code failure;
  std::filesystem::create_directories(path_, failure);
  if (failure) {
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot be made: {}", path_,
                                            failure.message()));
  }
  if (fresh && HasRun(path_)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: has a run already; --resume it, or choose "
                            "another",
                            path_));
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
  if (!file)
    throw Error(ErrorCode::kIo, metrics_path() + ": cannot be written");
  lines_.push_back(line);
}

void RunFolder::WriteCurves() const {
  std::vector<Json> lines;
  for (const std::string& line : lines_) lines.push_back(Json::parse(line));
  std::vector<LineChart> charts;
  for (const CurveRow& row : kCurves) charts.push_back(CurveOf(lines, row));
  charts.push_back(RateCurve(lines));
  WriteWhole(curves_path(),
             ChartPage("foretell train", fmt::format("{} epochs", lines.size()),
                       charts));
}

}  // namespace foretell::training
