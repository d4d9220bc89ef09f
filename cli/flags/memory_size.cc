#include "cli/flags/memory_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "foretell/error.h"
#include "src/core/parse_number.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

struct MemoryUnit {
  std::string_view name;
  double bytes;
};

constexpr MemoryUnit kMemoryUnits[] = {
    {"B", 1},
    {"KiB", static_cast<double>(kKiB)},
    {"MiB", static_cast<double>(kMiB)},
    {"GiB", static_cast<double>(kGiB)},
    {"TiB", static_cast<double>(1024 * kGiB)},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12}};
/// More would leave no room for sums in 64 bits.
constexpr double kMostMemory = 1e18;

std::optional<double> BytesOf(std::string_view text) {
  const std::optional<double> number = TakeNumber<double>(text);
  if (!number) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto* unit = std::ranges::find(kMemoryUnits, text, &MemoryUnit::name);
  if (unit == std::end(kMemoryUnits)) return std::nullopt;
  return *number * unit->bytes;
}

}  // namespace

std::int64_t ParseMemorySize(const std::string& flag, const std::string& text) {
  const std::optional<double> bytes = BytesOf(text);
  if (bytes && *bytes >= 1 && *bytes <= kMostMemory) {
    return static_cast<std::int64_t>(*bytes);
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} '{}': expected a number above 0 and a unit, as "
                          "16GiB: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB",
                          flag, text));
}

}  // namespace foretell::cli
