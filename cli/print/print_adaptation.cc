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

std::string ErrorsText(const RowErrors& errors) {
  return fmt::format("{} / {}", FormatPercent(errors.median, 1),
                     FormatPercent(errors.mean, 1));
}

std::string CorrectionText(const Adaptation& adaptation, Target target) {
  if (target == Target::kMemory) {
    return fmt::format("{}{} MiB", adaptation.memory_mib < 0 ? "" : "+",
                       FormatNumber(adaptation.memory_mib, 0));
  }
  if (target == Target::kEnergy) {
    return "x " + FormatNumber(std::exp(adaptation.energy_level), 3);
  }
  return fmt::format("host x {}; x {} (rate / {} TMAC/s)^{}",
                     FormatNumber(adaptation.host.factor, 3),
                     FormatNumber(std::exp(adaptation.level), 3),
                     FormatShort(adaptation.reference_rate / kMacsPerMsOfTera),
                     FormatNumber(adaptation.exponent, 3));
}

}  // namespace

std::string FormatAdaptation(const Adaptation& adaptation) {
  TextTable table({"figure", "correction", "rows", "error before", "after"});
  for (const Target target : kAllTargets) {
    if (!adaptation[target]) continue;
    const AdaptedFigure& figure = *adaptation[target];
    table.AddRow({std::string(TargetName(target)),
                  CorrectionText(adaptation, target),
                  fmt::format("{}", figure.rows), ErrorsText(figure.before),
                  ErrorsText(figure.after)});
  }
  return fmt::format(
      "{}\n{} of {} on {}; errors are medians / means over held-out rows\n"
      "",
      table.ToString(), Counted(adaptation.rows, "row"),
      Counted(adaptation.networks, "network"), adaptation.device);
}

std::string FormatWorse(const AdaptationFit& fit) {
  std::vector<std::string> texts;
  for (const Target target : fit.worse) {
    const AdaptedFigure& figure = *fit.adaptation[target];
    texts.push_back(fmt::format("{} {} before, {} after", TargetName(target),
                                FormatPercent(figure.before.mean, 1),
                                FormatPercent(figure.after.mean, 1)));
  }
  return Joined(texts, "; ");
}

}  // namespace foretell::cli
