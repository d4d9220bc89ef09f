#include "frontends/sandboxed_limits.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/core/deadline.h"
#include "src/core/resident_memory.h"
#include "src/core/shortened.h"
#include "src/graph/parse_watched.h"

namespace foretell::sandboxed {
namespace {

constexpr std::int64_t kGraphBytes = 128 * kMiB;
constexpr std::int64_t kMostGraphBytes = 1024 * kMiB;
constexpr std::int64_t kGraphBytesOfAFileByte = 256;
constexpr std::int64_t kAnswerBytes = 24 * kMiB;
constexpr std::int64_t kMostBytes = 64 * kMiB;
constexpr std::int64_t kAnswerBytesOfAFileByte = 64;

/// Not an Error: to one the parser would add a place in the text.
struct BeyondLimits {
  std::string what;
};

/// `least` plus `per_byte` for each byte of a file, at most `most`.
std::int64_t InProportion(std::int64_t file_bytes, std::int64_t least,
                          std::int64_t per_byte, std::int64_t most) {
  return least + per_byte * std::min(file_bytes, (most - least) / per_byte);
}

}  // namespace

std::int64_t MostAnswerBytes(std::int64_t file_bytes) {
  return InProportion(file_bytes, kAnswerBytes, kAnswerBytesOfAFileByte,
                      kMostBytes);
}

std::vector<std::string> WithinLimits(std::vector<std::string> warnings) {
  for (std::string& warning : warnings) {
    if (warning.size() <= kMostWarningBytes) continue;
    warning = Shortened(warning, kMostWarningBytes);
  }
  if (warnings.size() <= kMostWarnings) return warnings;
  const std::size_t kept = kMostWarnings - 1;
  const std::size_t left_out = warnings.size() - kept;
  warnings.resize(kept);
  warnings.push_back(fmt::format("{} more warnings", left_out));
  return warnings;
}

ParseLimits LimitsFor(std::int64_t file_bytes, double timeout_s) {
  return {.memory_bytes = InProportion(file_bytes, kGraphBytes,
                                       kGraphBytesOfAFileByte, kMostGraphBytes),
          .seconds = timeout_s};
}

OperatorGraph ParseWithin(const ParseLimits& limits, std::string_view text,
                          std::string_view origin) {
  const Deadline deadline = Deadline::In(limits.seconds);
  const std::int64_t before = OwnResidentBytes();
  const auto watch = [&] {
    if (deadline.HasPassed()) {
      throw BeyondLimits{fmt::format(
          "is not traced after {} s, the limit of --timeout", limits.seconds)};
    }
    if (OwnResidentBytes() - before > limits.memory_bytes) {
      throw BeyondLimits{fmt::format(
          "its graph exceeds {} MiB, the limit for a file of its size",
          limits.memory_bytes / kMiB)};
    }
  };
  try {
    return ParseGraphWatched(text, origin, watch);
  } catch (const BeyondLimits& beyond) {
    throw Error(ErrorCode::kUnsupported, beyond.what);
  }
}

}  // namespace foretell::sandboxed
