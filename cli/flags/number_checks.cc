#include "cli/flags/number_checks.h"

#include <fmt/core.h>

#include <optional>
#include <string>

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

constexpr char kHowListed[] =
    "sizes are listed with commas between them: --shape 4000,4000";

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
