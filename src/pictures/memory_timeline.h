#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::pictures {

/// The time of the most live bytes during a few consecutive operators of a
/// step.
struct MemoryMoment {
  NodeId first = kNone;    ///< First operator of those in a row.
  NodeId node = kNone;     ///< Operator that runs at the moment.
  std::size_t events = 0;  ///< Events of the graph that are done by then.
  /// Live bytes of the graph's storages, as requested.
  std::array<std::int64_t, kNumTensorRoles> by_role = {};
  /// Highest while the operators run, with workspaces and rounding.
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
};

/// A storage and its first and last moment, inclusive.
struct ShownTensor {
  StorageId storage = kNone;
  std::size_t first = 0;  ///< Index of a moment.
  std::size_t last = 0;
};

/// The memory of a step from operator to operator.
struct MemoryTimeline {
  std::vector<MemoryMoment> moments;
  std::vector<ShownTensor> tensors;  ///< In the order of their birth.
};

/// Limits of a drawing of a step.
struct TimelineLimits {
  std::size_t moments = 700;
  std::size_t tensors = 500;
};

/// Reads the graph's events along with `memory`, which is SimulateMemory of it.
/// At most limits.moments moments, of equally many operators each, and the
/// largest limits.tensors of the storages that are alive at one of them.
MemoryTimeline MakeTimeline(const OperatorGraph& graph,
                            const MemoryBreakdown& memory,
                            const TimelineLimits& limits = {});

/// docs/json_output.md has its fields; `modules` is ModulesOfStorages.
nlohmann::ordered_json TimelineToJson(const OperatorGraph& graph,
                                      const MemoryTimeline& timeline,
                                      const std::vector<std::string>& modules);

}  // namespace foretell::pictures
