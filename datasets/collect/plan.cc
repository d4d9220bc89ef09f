#include "datasets/collect/plan.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/model_endings.h"
#include "src/core/parse_number.h"

namespace foretell::dataset {
namespace {

namespace fs = std::filesystem;

void AddFolder(const fs::path& folder, std::vector<std::string>& files) {
  const std::size_t before = files.size();
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && HasModelEnding(entry.path())) {
      files.push_back(entry.path().string());
    }
  }
  if (files.size() > before) return;
  throw NotFound("{}: contains no model files (.onnx, .pt)", folder.string());
}

std::string NameOf(const std::string& path,
                   const std::vector<std::string>& dims) {
  std::string name = fs::path(path).stem().string();
  char separator = '?';
  for (const std::string& dim : dims) {
    name += separator + dim;
    separator = '&';
  }
  return name;
}

std::vector<std::int64_t> BatchesOf(const std::string& model,
                                    const PlanOptions& options) {
  if (options.batches_of.empty()) return options.batches;
  const auto found = options.batches_of.find(model);
  if (found == options.batches_of.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace

Shard ParseShard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const std::string_view whole = text;
    const auto index = ParseNumber<std::int64_t>(whole.substr(0, slash));
    const auto count = ParseNumber<std::int64_t>(whole.substr(slash + 1));
    if (index && count && 1 <= *index && *index <= *count) {
      return {.index = *index, .count = *count};
    }
  }
  throw InvalidArgument("shard '{}': expected I/N with 1 <= I <= N, e.g. 2/8",
                        text);
}

std::vector<Point> TakeShard(std::vector<Point> points, const Shard& shard) {
  std::unordered_map<std::string, std::int64_t> order;
  std::vector<Point> taken;
  for (Point& point : points) {
    const std::int64_t rank =
        order.emplace(point.model, std::ssize(order)).first->second;
    if (rank % shard.count == shard.index - 1)
      taken.push_back(std::move(point));
  }
  return taken;
}

std::vector<std::string> FindModelFiles(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      throw NotFound("{}: no such file or folder", path);
    }
    try {
      if (fs::is_directory(path)) {
        AddFolder(path, files);
      } else {
        files.push_back(path);
      }
    } catch (const fs::filesystem_error& error) {
      throw IoFailure("{}: {}", path, error.code().message());
    }
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<Point> PlanFiles(std::span<const std::string> files,
                             const PlanOptions& options) {
  std::map<std::string, std::string> paths;
  std::vector<Point> points;
  for (const std::string& path : files) {
    const std::string model = NameOf(path, options.dims);
    const auto [same, added] = paths.emplace(model, path);
    if (!added) {
      throw InvalidArgument(
          "{}: has the same name as {}; a dataset tells models apart by name",
          path, same->second);
    }
    for (const std::int64_t batch : BatchesOf(model, options)) {
      points.push_back({.model = model,
                        .family = FamilyOf(model),
                        .format = {},
                        .path = path,
                        .batch = batch,
                        .mode = options.mode,
                        .precision = options.precision,
                        .optimizer = options.optimizer,
                        .inputs = {},
                        .image_size = {}});
    }
  }
  return points;
}

std::map<std::string, std::set<std::int64_t>> ReadBatches(
    const std::string& path) {
  std::map<std::string, std::set<std::int64_t>> batches;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    const std::string& text = row.At("batch");
    const auto batch = ParseNumber<std::int64_t>(text);
    if (!batch || *batch <= 0) {
      throw Corrupt("{}: line {}: batch '{}' is not a positive number", path,
                    row.line(), text);
    }
    batches[row.At("model")].insert(*batch);
  });
  return batches;
}

std::string FamilyOf(std::string_view model) {
  const auto is_letter = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
  };
  const auto end = std::ranges::find_if_not(model, is_letter);
  return std::string(model.begin(), end == model.begin() ? model.end() : end);
}

}  // namespace foretell::dataset
