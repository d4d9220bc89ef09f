#pragma once

#include <map>
#include <string>

#include "foretell/run.h"

namespace foretell {

/// Conditions of a label's measurement: the fields of its JSON object, each as
/// text.
class Setting {
 public:
  Setting() = default;
  /// Strings unquoted, everything else as its JSON; no fields if it is not an
  /// object.
  explicit Setting(const std::string& json);
  /// With the fields of such a run's label: "autocast", "memory_format" and
  /// "torch".
  explicit Setting(const Run& run);

  /// Sets the text of a field.
  void Set(const std::string& key, const std::string& value);
  /// A JSON object of texts.
  std::string ToJson() const;

  /// Empty if there is no such field.
  std::string ValueOf(const std::string& key) const;

  /// How the label's network ran: "autocast" is true; "memory_format" is "nhwc"
  /// or "channels_last"; "group_norm" and "layer_norm" are "half"; the version
  /// of PyTorch is the first number in "torch", "framework" or "libtorch".
  /// Missing fields default as in Run.
  Run ToRun() const;

 private:
  std::map<std::string, std::string> values_;
};

/// Identifies how a trace under `run` differs from one under Run's defaults,
/// apart from mode, precision and optimizer: a Setting's JSON with "autocast",
/// "grad_mode", "memory_format", the norms' types, and as "torch" one version
/// for all with the same traces. Empty if the traces are the same. Runs with
/// equal text share a graph.
std::string TracedSetting(const Run& run);

}  // namespace foretell
