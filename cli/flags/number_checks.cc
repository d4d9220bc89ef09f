#include "cli/flags/number_checks.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <string>

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
