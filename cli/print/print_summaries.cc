#include "cli/print/print_summaries.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr std::size_t kLinesShown = 20;

}  // namespace

std::string FormatSome(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kLinesShown); ++i) {
    text += fmt::format("  {}\n", Printable(lines[i]));
  }
  if (lines.size() > kLinesShown) {
    text += fmt::format("  … and {} more\n", lines.size() - kLinesShown);
  }
  return text;
}

std::string FormatSummary(const dataset::GenerateSummary& summary) {
  return fmt::format(
      "{}: {} traced, {} present, {} failed, {} skipped after earlier "
      "failures\n"
      "",
      Counted(summary.planned, "point"), summary.traced, summary.present,
      summary.failed, summary.given_up);
}

std::string FormatSummary(const dataset::FillSummary& summary) {
  return fmt::format(
      "{}: {} labelled, {} present, {} failed, {} skipped after earlier "
      "failures, {} left\n"
      "",
      Counted(summary.points, "point"), summary.labelled, summary.present,
      summary.failed, summary.given_up, summary.left);
}

std::string FormatSummary(const dataset::ImportSummary& summary) {
  return fmt::format(
      "{}: {} joined, {} present, {} filtered out, {} without a value, "
      "{} unmatched, {} ambiguous, {} conflicting\n",
      Counted(summary.rows, "row"), summary.joined, summary.present,
      summary.filtered, summary.valueless, summary.unmatched, summary.ambiguous,
      summary.conflicting);
}

std::string FormatSummary(const std::string& path,
                          const dataset::MergeSummary& summary) {
  return fmt::format(
      "{}: {} new points, {} new graphs, {} new labels, {} conflicting "
      "labels\n",
      Printable(path), summary.points, summary.graphs, summary.labels,
      summary.conflicts);
}

}  // namespace foretell::cli
