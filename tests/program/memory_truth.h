#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell::program_test {

/// An operator whose CPU code keeps other tensors than CUDA's, which is what a
/// trace on meta describes.
struct ExplainedOperator {
  std::string_view target;
  std::string_view reason;
  /// The CPU's backward pass of it is a list of other operators, so that live
  /// bytes inside a backward pass cannot be compared.
  bool has_other_backward = false;
};

/// All operators for which that is known.
std::vector<ExplainedOperator> ExplainedOperators();

/// Live bytes after an operator that ran in both traces.
struct MemoryPoint {
  NodeId node = kNone;  ///< Of the trace on meta.
  std::string target;
  std::int64_t meta_bytes = 0;
  std::int64_t cpu_bytes = 0;
};

/// Two traces side by side.
struct MemoryComparison {
  std::vector<MemoryPoint> points;
  /// Operators that only one of the two ran, by target.
  std::set<std::string> unmatched;

  /// Points at which the two differ.
  std::vector<MemoryPoint> Differences() const;
  /// Those of them at which the difference is not the one before.
  std::vector<MemoryPoint> Jumps() const;
  std::int64_t PeakOnMeta() const;
  std::int64_t PeakOnCpu() const;
};

/// Compares the bytes of all storages that hold a recorded tensor. Scratch
/// memory of CPU kernels, which no recorded tensor looks at, stays out; so do
/// storages born in an operator of `explained` other than its results.
MemoryComparison CompareMemory(const OperatorGraph& meta,
                               const OperatorGraph& cpu,
                               const std::vector<ExplainedOperator>& explained);

}  // namespace foretell::program_test
