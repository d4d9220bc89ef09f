#include "cli/print/print_report.h"

#include <string>
#include <vector>

#include "src/core/csv.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

std::string Range(const Interval& interval) {
  return FormatSignificant(interval.lo) + " – " +
         FormatSignificant(interval.hi);
}

std::string Mib(std::int64_t bytes) {
  return FormatSignificant(ToMiB(bytes)) + " MiB";
}

std::string Line(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  line.append(label.size() < 13 ? 13 - label.size() : 1, ' ');
  return line + Printable(text) + "\n";
}

/// "fp32", or "fp32 with autocast to f16".
std::string PrecisionText(const Report& report) {
  std::string text(PrecisionName(report.precision));
  if (report.autocast) {
    text.append(" with autocast to ").append(DTypeName(*report.autocast));
  }
  return text;
}

/// "training", or "inference in grad mode".
std::string ModeText(const Report& report) {
  const std::string mode(ModeName(report.mode));
  return report.grad_mode ? mode + " in grad mode" : mode;
}

std::string Settings(const Report& report) {
  std::string text = report.format + ", " + ModeText(report);
  if (!report.optimizer.empty()) text += " with " + report.optimizer;
  return text + ", " + PrecisionText(report) + ", batch " +
         std::to_string(report.batch);
}

/// How far a learned figure's network is from those learned from; empty for
/// other figures.
std::string DistanceText(const FigureSource& source) {
  if (!source.distance) return "";
  std::string text =
      "   learned, distance " + FormatSignificant(*source.distance);
  if (!source.far_distance) return text;
  return text + " (far: above " + FormatSignificant(*source.far_distance) + ")";
}

/// What forgetting torch.no_grad() would cost; empty where it is not known.
std::string GradModeLine(const Report& report) {
  if (!report.grad_mode_mib) return "";
  const double more =
      *report.grad_mode_mib - report.prediction[Target::kMemory].value;
  return Line("  autograd", FormatSignificant(*report.grad_mode_mib) +
                                " MiB where torch.no_grad() is forgotten, " +
                                FormatSignificant(more) + " more");
}

std::string FormatMemory(const Report& report) {
  const MemoryBreakdown& memory = report.prediction.memory;
  const Figure& figure = report.prediction[Target::kMemory];
  std::string text = Line("memory", FormatSignificant(figure.value) +
                                        " MiB   (" + Range(figure.interval) +
                                        ")   as nvidia-smi would show it" +
                                        DistanceText(figure.source));
  text += Line("  context", Mib(memory.context) + "   environment " +
                                report.prediction.context);
  text += Line(
      "  reserved",
      Mib(memory.reserved_peak) + "   by the caching allocator; " +
          Mib(memory.allocated_peak) + " allocated at the peak" +
          (report.peak_operator.empty() ? "" : ", in " + report.peak_operator));
  const auto add = [&](const std::string& label, std::int64_t bytes) {
    if (bytes != 0) text += Line("    " + label, Mib(bytes));
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

std::string HostText(Host host) {
  return host == Host::kCpp ? "C++" : "Python";
}

std::string FormatReport(const Report& report) {
  const Prediction& prediction = report.prediction;
  std::string text =
      Printable(report.model) + "   (" + Settings(report) + ")\n";
  text += Line("device", prediction.device);
  text += Line("method", prediction.Method());
  text +=
      Line("network", FormatCount(report.parameters) + " parameters, " +
                          FormatCount(report.static_features.macs) + " MACs, " +
                          std::to_string(report.operators) + " operators");
  text += FormatMemory(report);
  const Figure& latency = prediction[Target::kLatency];
  const Figure& energy = prediction[Target::kEnergy];
  text += Line("latency", FormatSignificant(latency.value) + " ms   (" +
                              Range(latency.interval) + ")   called from " +
                              HostText(prediction.run.host) +
                              DistanceText(latency.source));
  text += Line("energy", FormatSignificant(energy.value) + " J   (" +
                             Range(energy.interval) + ")");
  text += Line("MIG", report.recommendation.profile.value_or("none") + ": " +
                          report.recommendation.reason);
  for (const std::string& warning : report.warnings) {
    text += Line("warning", warning);
  }
  return text + "\n" + mig::FormatTable(report.recommendation);
}

std::string FormatTable(std::span<const Report> reports) {
  TextTable table({"model", "batch", "memory MiB", "at most", "latency ms",
                   "energy J", "MIG profile"});
  for (const Report& report : reports) {
    const Prediction& prediction = report.prediction;
    table.AddRow({report.model, std::to_string(report.batch),
                  FormatSignificant(prediction[Target::kMemory].value),
                  FormatSignificant(prediction[Target::kMemory].interval.hi),
                  FormatSignificant(prediction[Target::kLatency].value),
                  FormatSignificant(prediction[Target::kEnergy].value),
                  report.recommendation.profile.value_or("none")});
  }
  const Report& first = reports.front();
  return table.ToString() + "\non " + first.prediction.device + ", " +
         ModeText(first) + ", " + PrecisionText(first) + "; " +
         first.prediction.Method() + "; context of " +
         first.prediction.context + "\n";
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
        std::to_string(report.batch),
        std::to_string(report.parameters),
        std::to_string(report.operators),
        std::to_string(report.static_features.macs),
        std::to_string(memory.value),
        std::to_string(memory.interval.lo),
        std::to_string(memory.interval.hi),
        std::to_string(ToMiB(p.memory.allocated_peak)),
        std::to_string(ToMiB(p.memory.reserved_peak)),
        std::to_string(ToMiB(p.memory.context)),
        std::to_string(latency.value),
        std::to_string(latency.interval.lo),
        std::to_string(latency.interval.hi),
        std::to_string(energy.value),
        std::to_string(energy.interval.lo),
        std::to_string(energy.interval.hi),
        report.recommendation.profile.value_or(""),
        p.Method()};
    text += CsvLine(fields);
  }
  return text;
}

}  // namespace foretell::cli
