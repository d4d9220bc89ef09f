#include "src/core/memory_size.h"

#include <algorithm>

#include "src/core/ignoring_case.h"
#include "src/core/parse_number.h"
#include "src/core/units.h"

namespace foretell {
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

}  // namespace

std::optional<double> ParseBytes(std::string_view text) {
  const std::optional<double> number = TakeNumber<double>(text);
  if (!number) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto* unit =
      std::ranges::find_if(kMemoryUnits, [text](const MemoryUnit& one) {
        return EqualsIgnoringCase(one.name, text);
      });
  if (unit == std::end(kMemoryUnits)) return std::nullopt;
  return *number * unit->bytes;
}

std::optional<double> ParseMib(std::string_view text) {
  if (const auto plain = ParseNumber<double>(text)) return plain;
  const std::optional<double> bytes = ParseBytes(text);
  if (!bytes) return std::nullopt;
  return *bytes / static_cast<double>(kMiB);
}

}  // namespace foretell
