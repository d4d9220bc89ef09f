#include "cli/flags/memory_size.h"

#include <optional>

#include "src/core/failure.h"
#include "src/core/memory_size.h"

namespace foretell::cli {
namespace {

/// More would leave no room for sums in 64 bits.
constexpr double kMostMemory = 1e18;

}  // namespace

std::int64_t ParseMemorySize(const std::string& flag, const std::string& text) {
  const std::optional<double> bytes = ParseBytes(text);
  if (bytes && *bytes >= 1 && *bytes <= kMostMemory) {
    return static_cast<std::int64_t>(*bytes);
  }
  throw InvalidArgument(
      "{} '{}': expected a number above 0 and a unit, e.g. 16GiB: {}", flag,
      text, kMemoryUnitsText);
}

}  // namespace foretell::cli
