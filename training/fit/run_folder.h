#pragma once

#include <string>
#include <vector>

#include "src/network/checkpoint.h"
#include "training/fit/epoch_metrics.h"

namespace foretell::training {

/// Files of one run: last.safetensors and best.safetensors, each whole at any
/// time; metrics.jsonl, a line per epoch; curves.html, the same as charts.
/// Throws Error(kIo) that names the path.
class RunFolder {
 public:
  /// Creates the folder if missing. With `fresh`, throws
  /// Error(kInvalidArgument) if it already has a run.
  RunFolder(std::string path, bool fresh);
  /// True if the folder exists and has a run.
  static bool HasRun(const std::string& path);

  const std::string& path() const { return path_; }
  std::string last_path() const { return LastPath(path_); }
  std::string best_path() const { return path_ + "/best.safetensors"; }
  std::string metrics_path() const { return path_ + "/metrics.jsonl"; }
  std::string curves_path() const { return path_ + "/curves.html"; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  /// Drops lines of epochs after `epochs`, which a run that was killed between
  /// its metrics and its checkpoint left behind.
  void KeepMetrics(std::int64_t epochs);
  void AddMetrics(const EpochMetrics& metrics);
  void WriteCurves() const;

 private:
  static std::string LastPath(const std::string& path) {
    return path + "/last.safetensors";
  }

  std::string path_;
  std::vector<std::string> lines_;  ///< Lines of metrics.jsonl.
};

}  // namespace foretell::training
