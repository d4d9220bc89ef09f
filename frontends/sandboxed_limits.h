#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"
#include "src/core/units.h"

/// Limits on answers of the process in which a file is opened. A file that has
/// taken it over can send anything, so these limits bound the reader's cost. If
/// a benign file reaches a limit, the sender itself reports it.
namespace foretell::sandboxed {

inline constexpr std::int64_t kMostDescriptionBytes = 32 * kMiB;
inline constexpr std::size_t kMostTensors = 200'000;  ///< Inputs, or outputs.
inline constexpr std::size_t kMostDims = 1'000;       ///< Of a tensor.
inline constexpr std::size_t kMostWarnings = 1'000;
inline constexpr std::size_t kMostWarningBytes = 1'024;

/// Most bytes of an answer about a file of `file_bytes`: 24 MiB plus 64 times
/// the file, at most 64 MiB. A graph's text has about 60 bytes per operator.
std::int64_t MostAnswerBytes(std::int64_t file_bytes);

/// `warnings` within those limits: long ones are cut, and the last one states
/// how many are left out.
std::vector<std::string> WithinLimits(std::vector<std::string> warnings);

/// Limits for parsing a graph.
struct ParseLimits {
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

/// Limits for a graph of a file of `file_bytes`: 128 MiB plus 256 times the
/// file, at most 1 GiB. An ONNX operator has at least 20 bytes; in training it
/// becomes about five operators of a graph, which take 1 KiB each.
ParseLimits LimitsFor(std::int64_t file_bytes, double timeout_s);

/// ParseGraph within limits. Throws Error(kUnsupported) if they are
/// exceeded.
OperatorGraph ParseWithin(const ParseLimits& limits, std::string_view text,
                          std::string_view origin);

}  // namespace foretell::sandboxed
