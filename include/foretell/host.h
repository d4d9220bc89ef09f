#pragma once

#include <string>

namespace foretell {

/// Spread of hosts: the CPU time of an operator on an unknown host is within
/// this factor of the typical host's. Published factors range from 0.46 to
/// 1.59: docs/hosts.md.
inline constexpr double kUnknownHostSpread = 2.0;

/// The machine whose CPU dispatches the operators. The typical host of
/// published tables has factor 1.
struct HostSpec {
  /// Name given to `foretell host --name`; empty: unnamed.
  std::string name = {};
  /// CPU time of an operator relative to the typical host; > 0.
  double factor = 1;
  /// The true factor should lie between factor / spread and factor * spread;
  /// >= 1.
  double spread = kUnknownHostSpread;

  bool IsNamed() const { return !name.empty(); }
  bool operator==(const HostSpec&) const = default;
};

}  // namespace foretell
