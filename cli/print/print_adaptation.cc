#include "cli/print/print_adaptation.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

constexpr double kMacsPerMsOfTera = 1e9;

std::string CorrectionText(const CorrectionTerms& terms, Target target) {
  if (target == Target::kMemory) {
    return fmt::format("{}{} MiB", terms.memory_mib < 0 ? "" : "+",
                       FormatNumber(terms.memory_mib, 0));
  }
  if (target == Target::kEnergy) {
    return "x " + FormatNumber(std::exp(terms.energy_level), 3);
  }
  return fmt::format("host x {}; x {} (rate / {} TMAC/s)^{}",
                     FormatNumber(terms.host.factor, 3),
                     FormatNumber(std::exp(terms.level), 3),
                     FormatShort(terms.reference_rate / kMacsPerMsOfTera),
                     FormatNumber(terms.exponent, 3));
}

}  // namespace

std::string ErrorsText(const RowErrors& errors) {
  return fmt::format("{} / {}", FormatPercent(errors.median, 1),
                     FormatPercent(errors.mean, 1));
}

std::string FormatAdaptation(const Correction& correction) {
  TextTable table({"figure", "correction", "rows", "error before", "after"});
  for (const Target target : kAllTargets) {
    if (!correction[target]) continue;
    const CorrectedFigure& figure = *correction[target];
    table.AddRow({std::string(TargetName(target)),
                  CorrectionText(correction.terms, target),
                  fmt::format("{}", figure.rows), ErrorsText(figure.before),
                  ErrorsText(figure.after)});
  }
  return fmt::format(
      "{}\n{} of {} on {}; errors are medians / means of rows that were left "
      "out\n",
      table.ToString(), Counted(correction.rows, "row"),
      Counted(correction.networks, "network"), correction.scope.device);
}

std::string FormatWorse(const CorrectionFit& fit) {
  std::vector<std::string> texts;
  for (const Target target : fit.worse) {
    const CorrectedFigure& figure = *fit.correction[target];
    texts.push_back(fmt::format("{} {} before, {} after", TargetName(target),
                                FormatPercent(figure.before.mean, 1),
                                FormatPercent(figure.after.mean, 1)));
  }
  return Joined(texts, "; ");
}

}  // namespace foretell::cli
