#include "cli/print/print_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

constexpr std::size_t kMostPlaces = 5;

/// Whole MiB; nothing is not "-0".
std::string MibText(double mib) {
  return FormatNumber(std::round(mib) + 0.0, 0);
}

/// "+12 %" more time than before, "-30 %" less.
std::string TimeText(const Remedy& remedy) {
  return fmt::format("{:+.0f} %", 100 * (remedy.time_factor - 1));
}

/// Whether the table, in whole MiB, would show that anything is saved.
bool Saves(const Remedy& remedy) { return std::round(remedy.saved_mib) > 0; }

std::string RemedyTable(const Advice& advice) {
  TextTable table(
      {"remedy", "MiB at most", "saved", "ms", "time", "numerics", "fits"});
  std::vector<Remedy> rows = advice.remedies;
  rows.insert(rows.end(), advice.combinations.begin(),
              advice.combinations.end());
  for (const Remedy& remedy : rows) {
    if (!Saves(remedy)) continue;
    table.AddRow({Joined(remedy.names, " + "), MibText(remedy.step.needed_mib),
                  MibText(remedy.saved_mib),
                  FormatSignificant(remedy.step.latency_ms), TimeText(remedy),
                  remedy.keeps_numerics ? "same" : "change",
                  remedy.step.fits ? "yes" : "no"});
  }
  return table.ToString();
}

/// "Nothing is saved by foreach=False (0 MiB), optimizer adam (+64)".
std::string UselessText(const Advice& advice) {
  std::string text;
  for (const Remedy& remedy : advice.remedies) {
    if (Saves(remedy)) continue;
    const double more = -std::round(remedy.saved_mib);
    text += fmt::format(
        "{} {} ({}{} MiB)", text.empty() ? "Nothing is saved by" : ",",
        Joined(remedy.names, " + "), more > 0 ? "+" : "", MibText(more));
  }
  return text.empty() ? "" : text + "\n";
}

std::string SmallestText(const Advice& advice) {
  if (advice.unchanged.fits) return "It fits as it is.\n";
  if (!advice.smallest) return "No combination that was tried fits.\n";
  const Remedy& smallest = *advice.smallest;
  return fmt::format("Recommended: {}: {} MiB at most, {} ms, {} time\n",
                     Printable(Joined(smallest.names, " + ")),
                     MibText(smallest.step.needed_mib),
                     FormatSignificant(smallest.step.latency_ms),
                     TimeText(smallest));
}

std::string ElsewhereText(const AdvisedModel& advised) {
  if (advised.elsewhere.empty()) return "";
  std::string text = "Fits unchanged on:";
  const std::size_t shown = std::min(advised.elsewhere.size(), kMostPlaces);
  for (std::size_t i = 0; i < shown; ++i) {
    const OtherPlace& place = advised.elsewhere[i];
    text += fmt::format("{} {} ({} MiB, {} ms)", i == 0 ? "" : ",", place.name,
                        place.usable_mib, FormatSignificant(place.latency_ms));
  }
  const std::size_t rest = advised.elsewhere.size() - shown;
  return text + (rest == 0 ? "\n" : fmt::format(" and {} more\n", rest));
}

}  // namespace

std::string FormatAdvice(const AdvisedModel& advised) {
  const Advice& advice = advised.advice;
  std::string text = fmt::format(
      "{} on {}: {} MiB at most, usable {}, {} ms\n\n",
      Printable(advised.model), advised.place,
      MibText(advice.unchanged.needed_mib), MibText(advised.usable_mib),
      FormatSignificant(advice.unchanged.latency_ms));
  if (std::ranges::any_of(advice.remedies, &Saves)) {
    text += RemedyTable(advice) + "\n";
  }
  text += UselessText(advice);
  for (const UntriedRemedy& one : advice.untried) {
    text += fmt::format("not simulated: {}: {}\n", Printable(one.name),
                        Printable(one.reason));
  }
  text += SmallestText(advice) + ElsewhereText(advised);
  for (const std::string& warning : advised.warnings) {
    text += fmt::format("note: {}\n", Printable(warning));
  }
  return text;
}

}  // namespace foretell::cli
