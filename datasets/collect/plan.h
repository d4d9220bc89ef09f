#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

/// One of `count` parts of a plan, counted from 1.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// Parses "2/8". Throws Error(kInvalidArgument) unless 1 <= index <= count.
Shard ParseShard(const std::string& text);

/// The points of `shard`. Assigns models to shards round-robin in order of
/// appearance, so that all points of a model are in one shard.
std::vector<Point> TakeShard(std::vector<Point> points, const Shard& shard);

/// Steps to run for every model.
struct PlanOptions {
  std::vector<std::int64_t> batches = {1};
  /// Batches of each model instead of `batches`; a model that is not in it is
  /// left out. Empty: `batches` for all.
  std::map<std::string, std::set<std::int64_t>> batches_of = {};
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  std::string optimizer;  ///< Empty in inference.
  /// Sizes of named dimensions, "seq=128"; they become part of the name.
  std::vector<std::string> dims;
};

/// Model files (.onnx, .pt, .pt2, .pth, .ts, .torchscript) among `paths` and in
/// the folders among them, at any depth; sorted, each once. Throws Error:
/// kNotFound for a path that does not exist or a folder without any.
std::vector<std::string> FindModelFiles(std::span<const std::string> paths);

/// A point per file and batch, ordered by file. Throws Error(kInvalidArgument)
/// with both paths for files of the same name.
std::vector<Point> PlanFiles(std::span<const std::string> files,
                             const PlanOptions& options);

/// The batches of each model in a table (CSV with the columns model and batch):
/// the points that its rows need. Throws Error that names path, line and value.
std::map<std::string, std::set<std::int64_t>> ReadBatches(
    const std::string& path);

/// Leading letters of a model's name: "resnet50_32x4d" → "resnet"; the whole
/// name if it starts with none.
std::string FamilyOf(std::string_view model);

}  // namespace foretell::dataset
