#pragma once

#include <cstdint>
#include <vector>

namespace foretell::runtime {

/// An edge of a flow network.
struct FlowEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  double capacity = 0;  ///< kUnlimited: never cut.
};
inline constexpr double kUnlimited = 1e30;

/// The side of the source of a minimum cut between `source` and `sink`, by
/// vertex: those from which no residual capacity leads to the sink.
///
/// Throws Error(kInternal) if every cut has an unlimited edge.
std::vector<bool> SourceSide(std::int32_t vertices,
                             const std::vector<FlowEdge>& edges,
                             std::int32_t source, std::int32_t sink);

}  // namespace foretell::runtime
