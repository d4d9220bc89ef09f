#include "cli/flags/number_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/core/memory_size.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"

namespace foretell::cli {
namespace {

/// Empty where `text` is a number that `holds` accepts, as CLI11 wants it.
std::string Complaint(const std::string& text, bool (*holds)(double),
                      std::string_view expected) {
  const std::optional<double> number = ParseNumber<double>(text);
  if (number && holds(*number)) return "";
  return fmt::format("'{}': expected a number {}", text, expected);
}

struct Unit {
  std::string_view name;
  double scale = 1;  ///< In the unit of a number alone.
};

constexpr Unit kTimes[] = {{"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"min", 60e3}};
constexpr Unit kEnergies[] = {
    {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"Wh", 3600}, {"kWh", 3.6e6}};

std::optional<double> ParseIn(std::span<const Unit> units,
                              std::string_view text) {
  const std::optional<double> number = TakeNumber<double>(text);
  if (!number || text.empty()) return number;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = std::ranges::find(units, text, &Unit::name);
  if (unit == units.end()) return std::nullopt;
  return *number * unit->scale;
}

/// Converts a number with one of `units` to a number alone.
CLI::Validator InUnits(std::span<const Unit> units, std::string expected,
                       std::string type) {
  return {[units, expected = std::move(expected)](std::string& text) {
            const std::optional<double> number = ParseIn(units, text);
            if (!number || !(*number > 0) || !std::isfinite(*number)) {
              return fmt::format("'{}': expected a number above 0, {}", text,
                                 expected);
            }
            text = FormatExact(*number);
            return std::string();
          },
          std::move(type)};
}

constexpr char kHowListed[] = "separate sizes with commas: --shape 4000,4000";

}  // namespace

const CLI::Validator& AboveZero() {
  static const CLI::Validator check(
      [](std::string& text) {
        return Complaint(
            text, [](double number) { return number > 0; }, "above 0");
      },
      "POSITIVE");
  return check;
}

const CLI::Validator& SizeInMib() {
  static const CLI::Validator change(
      [](std::string& text) -> std::string {
        const std::optional<double> mib = ParseMib(text);
        if (!mib || !(*mib > 0) || !std::isfinite(*mib)) {
          return fmt::format(
              "'{}': expected MiB above 0, or a number with a unit, e.g. 10GB: "
              "{}",
              text, kMemoryUnitsText);
        }
        text = FormatExact(*mib);
        return "";
      },
      "SIZE");
  return change;
}

const CLI::Validator& TimeInMs() {
  static const CLI::Validator change = InUnits(
      kTimes, "of ms or with a unit, e.g. 20ms: us, ms, s or min", "TIME");
  return change;
}

const CLI::Validator& EnergyInJ() {
  static const CLI::Validator change =
      InUnits(kEnergies, "of J or with a unit, e.g. 5J: mJ, J, kJ, Wh or kWh",
              "ENERGY");
  return change;
}

bool TakesUnit(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.ends_with(":SIZE") || type.ends_with(":TIME") ||
         type.ends_with(":ENERGY");
}

const CLI::Validator& SizeInList() {
  static const CLI::Validator check(
      [](std::string& text) {
        if (ParseNumber<std::int64_t>(text)) return AboveZero()(text);
        return fmt::format("'{}': {}", text, kHowListed);
      },
      "POSITIVE");
  return check;
}

const CLI::Validator& NoSize() {
  static const CLI::Validator check(
      [](std::string& text) {
        if (!ParseNumber<std::int64_t>(text)) return std::string();
        return fmt::format("'{}': {}", text, kHowListed);
      },
      "");
  return check;
}

const CLI::Validator& FromZero() {
  static const CLI::Validator check(
      [](std::string& text) {
        return Complaint(
            text, [](double number) { return number >= 0; }, "from 0");
      },
      "NONNEGATIVE");
  return check;
}

}  // namespace foretell::cli
