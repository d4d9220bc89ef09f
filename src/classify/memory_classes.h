#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace foretell::classify {

/// Ranges of memory: below the first edge, from each edge to the next, and from
/// the last one on. A run that is out of memory is in the last class.
class MemoryClasses {
 public:
  /// Throws Error(kInvalidArgument) that names the values unless there is at
  /// least one edge and all ascend from above 0; at most kMostEdges.
  explicit MemoryClasses(std::vector<double> edges_mib);
  static constexpr std::size_t kMostEdges = 63;

  /// Reads "8000,16000,24000". Throws Error(kInvalidArgument) that names it.
  static MemoryClasses Parse(const std::string& text);

  const std::vector<double>& edges_mib() const { return edges_mib_; }
  int size() const { return static_cast<int>(edges_mib_.size()) + 1; }
  /// The class of a run that uses `memory_mib`; empty: it is out of memory.
  int ClassOf(std::optional<double> memory_mib) const;
  /// "below 8000 MiB", "8000 to 16000 MiB", "from 40000 MiB on".
  std::string Name(int one) const;

  bool operator==(const MemoryClasses&) const = default;

 private:
  std::vector<double> edges_mib_;
};

}  // namespace foretell::classify
