#pragma once

#include <string>

namespace foretell {

/// The machine whose CPU dispatches the operators. The typical host of
/// published A100s has factor 1.
struct HostSpec {
  /// Name given to `foretell host --name`; empty: unnamed.
  std::string name = {};
  /// CPU time of an operator relative to the typical host; > 0.
  double factor = 1;
  /// The true factor should lie between factor / spread and factor * spread;
  /// >= 1.
  double spread = 2;

  bool IsNamed() const { return !name.empty(); }
  bool operator==(const HostSpec&) const = default;
};

}  // namespace foretell
