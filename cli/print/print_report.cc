#include "cli/print/print_report.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/core/csv.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

std::string Range(const Interval& interval) {
  return fmt::format("{} – {}", FormatSignificant(interval.lo),
                     FormatSignificant(interval.hi));
}

std::string Mib(std::int64_t bytes) {
  return fmt::format("{} MiB", FormatSignificant(ToMiB(bytes)));
}

std::string Line(const std::string& label, const std::string& text) {
  return fmt::format("  {:<12} {}\n", label, Printable(text));
}

/// "fp32", or "fp32 with autocast to f16".
std::string PrecisionText(const Report& report) {
  const std::string_view precision = PrecisionName(report.precision);
  if (!report.autocast) return std::string(precision);
  return fmt::format("{} with autocast to {}", precision,
                     DTypeName(*report.autocast));
}

/// "training", or "inference in grad mode".
std::string ModeText(const Report& report) {
  return fmt::format("{}{}", ModeName(report.mode),
                     report.grad_mode ? " in grad mode" : "");
}

std::string Settings(const Report& report) {
  std::string text =
      fmt::format("{}, {}{}{}, {}, batch {}", report.format, ModeText(report),
                  report.optimizer.empty() ? "" : " with ", report.optimizer,
                  PrecisionText(report), report.batch);
  for (const std::string& flag : report.setup) {
    text += fmt::format(", {}", Printable(flag));
  }
  return text;
}

/// How far a learned figure's network is from those learned from; empty for
/// other figures.
std::string DistanceText(const FigureSource& source) {
  if (!source.distance) return "";
  std::string text = fmt::format("   learned, distance {}",
                                 FormatSignificant(*source.distance));
  if (!source.far_distance) return text;
  return fmt::format("{} (far: above {})", text,
                     FormatSignificant(*source.far_distance));
}

/// What forgetting torch.no_grad() would cost; empty where it is not known.
std::string GradModeLine(const Report& report) {
  if (!report.grad_mode_mib) return "";
  const double more =
      *report.grad_mode_mib - report.prediction[Target::kMemory].value;
  return Line("  autograd",
              fmt::format("{} MiB where torch.no_grad() is forgotten, {} more",
                          FormatSignificant(*report.grad_mode_mib),
                          FormatSignificant(more)));
}

std::string FormatMemory(const Report& report) {
  const MemoryBreakdown& memory = report.prediction.memory;
  const Figure& figure = report.prediction[Target::kMemory];
  std::string text =
      Line("memory",
           fmt::format("{} MiB   ({})   as nvidia-smi would show it{}",
                       FormatSignificant(figure.value), Range(figure.interval),
                       DistanceText(figure.source)));
  text +=
      Line("  context", fmt::format("{}   environment {}", Mib(memory.context),
                                    report.prediction.context));
  text += Line(
      "  reserved",
      fmt::format("{}   by the caching allocator; {} allocated at the peak{}{}",
                  Mib(memory.reserved_peak), Mib(memory.allocated_peak),
                  report.peak_operator.empty() ? "" : ", in ",
                  report.peak_operator));
  text += Line("  at least",
               fmt::format("{} MiB   when cached segments are given back",
                           FormatSignificant(report.prediction.LeastMib())));
  const auto add = [&](const std::string& label, std::int64_t bytes) {
    if (bytes != 0) text += Line(fmt::format("    {}", label), Mib(bytes));
  };
  add("weights", memory.AtPeak(TensorRole::kParameter) +
                     memory.AtPeak(TensorRole::kBuffer));
  add("inputs", memory.AtPeak(TensorRole::kInput));
  add("activations", memory.ActivationsAtPeak());
  add("gradients", memory.AtPeak(TensorRole::kGradient));
  add("optimizer", memory.AtPeak(TensorRole::kOptimizerState));
  add("temporaries", memory.AtPeak(TensorRole::kBackwardTemporary) +
                         memory.AtPeak(TensorRole::kOptimizerTemporary));
  add("workspaces", memory.at_peak_workspace);
  return text + GradModeLine(report);
}

/// "Python", or "Python on mine, host factor 1.3".
std::string HostText(const Prediction& prediction) {
  const char* caller = prediction.run.host == Host::kCpp ? "C++" : "Python";
  if (!prediction.host.IsNamed()) return caller;
  return fmt::format("{} on {}, host factor {}", caller, prediction.host.name,
                     FormatSignificant(prediction.host.factor));
}

std::string LimitText(const Run& run) {
  return run.power_limit_w ? fmt::format("   at most {} W", *run.power_limit_w)
                           : "";
}

std::string FormatReport(const Report& report) {
  const Prediction& prediction = report.prediction;
  std::string text =
      fmt::format("{}   ({})\n", Printable(report.model), Settings(report));
  text += Line("device", prediction.device);
  text += Line("method", prediction.Method());
  text += Line("network", fmt::format("{} parameters, {} MACs, {} operators",
                                      FormatCount(report.parameters),
                                      FormatCount(report.static_features.macs),
                                      report.operators));
  text += FormatMemory(report);
  const Figure& latency = prediction[Target::kLatency];
  const Figure& energy = prediction[Target::kEnergy];
  text +=
      Line("latency", fmt::format("{} ms   ({})   called from {}{}",
                                  FormatSignificant(latency.value),
                                  Range(latency.interval), HostText(prediction),
                                  DistanceText(latency.source)));
  text += Line("energy",
               fmt::format("{} J   ({}){}", FormatSignificant(energy.value),
                           Range(energy.interval), LimitText(prediction.run)));
  text +=
      Line("MIG",
           fmt::format("{}: {}", report.recommendation.profile.value_or("none"),
                       report.recommendation.reason));
  for (const std::string& warning : report.warnings) {
    text += Line("warning", warning);
  }
  return fmt::format("{}\n{}", text, mig::FormatTable(report.recommendation));
}

/// Figures of a CSV line: six digits behind the point.
std::string Decimal(double value) { return FormatNumber(value, 6); }

std::string Whole(std::int64_t value) { return fmt::format("{}", value); }

std::string FormatTable(std::span<const Report> reports) {
  TextTable table({"model", "batch", "memory MiB", "at most", "latency ms",
                   "energy J", "MIG profile"});
  for (const Report& report : reports) {
    const Prediction& prediction = report.prediction;
    table.AddRow({report.model, fmt::format("{}", report.batch),
                  FormatSignificant(prediction[Target::kMemory].value),
                  FormatSignificant(prediction[Target::kMemory].interval.hi),
                  FormatSignificant(prediction[Target::kLatency].value),
                  FormatSignificant(prediction[Target::kEnergy].value),
                  report.recommendation.profile.value_or("none")});
  }
  const Report& first = reports.front();
  return fmt::format("{}\non {}, {}, {}; {}; context of {}\n", table.ToString(),
                     first.prediction.device, ModeText(first),
                     PrecisionText(first), first.prediction.Method(),
                     first.prediction.context);
}

}  // namespace

std::string FormatReports(std::span<const Report> reports) {
  if (reports.empty()) return "";
  return reports.size() == 1 ? FormatReport(reports.front())
                             : FormatTable(reports);
}

std::string FormatCsv(std::span<const Report> reports) {
  std::string text =
      "model,format,device,environment,mode,grad_mode,optimizer,precision,"
      "batch,"
      "parameters,operators,macs,memory_mib,memory_lo_mib,memory_hi_mib,"
      "memory_least_mib,"
      "allocated_mib,reserved_mib,context_mib,latency_ms,latency_lo_ms,"
      "latency_hi_ms,energy_j,energy_lo_j,energy_hi_j,mig_profile,method\n";
  for (const Report& report : reports) {
    const Prediction& p = report.prediction;
    const auto& [memory, latency, energy] = p.figures;
    const std::vector<std::string> fields = {
        report.model,
        report.format,
        p.device,
        p.context,
        std::string(ModeName(report.mode)),
        report.grad_mode ? "true" : "false",
        report.optimizer,
        PrecisionText(report),
        Whole(report.batch),
        Whole(report.parameters),
        Whole(report.operators),
        Whole(report.static_features.macs),
        Decimal(memory.value),
        Decimal(memory.interval.lo),
        Decimal(memory.interval.hi),
        Decimal(p.LeastMib()),
        Decimal(ToMiB(p.memory.allocated_peak)),
        Decimal(ToMiB(p.memory.reserved_peak)),
        Decimal(ToMiB(p.memory.context)),
        Decimal(latency.value),
        Decimal(latency.interval.lo),
        Decimal(latency.interval.hi),
        Decimal(energy.value),
        Decimal(energy.interval.lo),
        Decimal(energy.interval.hi),
        report.recommendation.profile.value_or(""),
        p.Method()};
    text += CsvLine(fields);
  }
  return text;
}

}  // namespace foretell::cli
