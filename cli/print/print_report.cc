#include "cli/print/print_report.h"

#include <fmt/core.h>

#include <sstream>
#include <vector>

#include "cli/print/memory_bar.h"
#include "src/core/csv.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/core/units.h"
#include "src/judge/summary.h"

namespace foretell::cli {
namespace {

std::string Mib(std::int64_t bytes) {
  return fmt::format("{} MiB", FormatSignificant(ToMiB(bytes)));
}

/// Column in which the text of a line begins, except after long labels.
constexpr std::size_t kTextColumn = 15;
/// Columns of the longest bar, and of the figure and the label before it.
constexpr std::size_t kBarColumns = 32;
constexpr std::size_t kFigureColumns = 12;
constexpr std::size_t kPartColumns = 15;

/// Labels with their texts, in the style of a terminal.
class ReportLines {
 public:
  explicit ReportLines(const TerminalStyle& style) : style_(style) {}

  void Add(const std::string& label, const std::string& text,
           Tone tone = Tone::kPlain) {
    const std::string head = fmt::format("  {:<12} ", label);
    const std::string line =
        Wrapped(head + Printable(text), style_.width, kTextColumn);
    text_ += Painted(line.substr(0, head.size()), Tone::kLabel, style_);
    text_ += Painted(line.substr(head.size()), tone, style_) + "\n";
  }
  /// A part of the memory at the peak; with a bar on a terminal.
  void AddPart(const std::string& label, std::int64_t bytes,
               std::int64_t whole) {
    if (bytes == 0) return;
    text_ += fmt::format("  {:<{}} ", "    " + label, kPartColumns);
    if (style_.width == 0) {
      text_ += Mib(bytes) + "\n";
      return;
    }
    const double share =
        static_cast<double>(bytes) / static_cast<double>(whole);
    text_ += fmt::format("{:<{}}", Mib(bytes), kFigureColumns) +
             PaintedAsPart(BarOf(share, kBarColumns), label, style_) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  TerminalStyle style_;
  std::string text_;
};

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

/// What forgetting torch.no_grad() would cost, where that is known.
void AddGradMode(const Report& report, ReportLines& lines) {
  if (!report.grad_mode_mib) return;
  const double more =
      *report.grad_mode_mib - report.prediction[Target::kMemory].value;
  lines.Add("  autograd", fmt::format("{} MiB (+{}) without torch.no_grad()",
                                      FormatSignificant(*report.grad_mode_mib),
                                      FormatSignificant(more)));
}

void AddParts(const MemoryBreakdown& memory, ReportLines& lines) {
  const auto add = [&](const char* label, std::int64_t bytes) {
    lines.AddPart(label, bytes, memory.allocated_peak);
  };
  add("parameters", memory.AtPeak(TensorRole::kParameter) +
                        memory.AtPeak(TensorRole::kBuffer));
  add("inputs", memory.AtPeak(TensorRole::kInput));
  add("activations", memory.ActivationsAtPeak());
  add("gradients", memory.AtPeak(TensorRole::kGradient));
  add("optimizer", memory.AtPeak(TensorRole::kOptimizerState));
  add("temporaries", memory.AtPeak(TensorRole::kBackwardTemporary) +
                         memory.AtPeak(TensorRole::kOptimizerTemporary));
  add("workspaces", memory.at_peak_workspace);
}

void AddMemory(const Report& report, ReportLines& lines) {
  const MemoryBreakdown& memory = report.prediction.memory;
  const Figure& figure = report.prediction[Target::kMemory];
  lines.Add("memory", fmt::format("{} MiB   ({})   as shown by nvidia-smi{}",
                                  FormatSignificant(figure.value),
                                  RangeText(figure.interval),
                                  DistanceText(figure.source)));
  lines.Add("  context", fmt::format("{}   environment {}", Mib(memory.context),
                                     report.prediction.context));
  if (memory.link_buffers > 0) {
    lines.Add("  NCCL",
              fmt::format("{}   its buffers for {} GPUs",
                          Mib(memory.link_buffers), report.parallel->gpus));
  }
  lines.Add(
      "  reserved",
      fmt::format("{}   by the caching allocator; peak of {} allocated{}{}",
                  Mib(memory.reserved_peak), Mib(memory.allocated_peak),
                  report.peak_operator.empty() ? "" : " during ",
                  report.peak_operator));
  lines.Add("  minimum",
            fmt::format("{} MiB   with the allocator's cache emptied",
                        FormatSignificant(report.prediction.LeastMib())));
  AddParts(memory, lines);
  AddGradMode(report, lines);
}

/// "PyTorch", or "PyTorch on mine, host factor 1.3".
std::string HostText(const Prediction& prediction) {
  const char* caller =
      prediction.run.host == Host::kCpp ? "LibTorch (C++)" : "PyTorch";
  if (!prediction.host.IsNamed()) return caller;
  return fmt::format("{} on {}, host factor {}", caller, prediction.host.name,
                     FormatSignificant(prediction.host.factor));
}

std::string LimitText(const Run& run) {
  return run.power_limit_w ? fmt::format("   at most {} W", *run.power_limit_w)
                           : "";
}

Tone ToneOf(mig::Fit fit) {
  if (fit == mig::Fit::kFits) return Tone::kGood;
  return fit == mig::Fit::kFitsWithoutCache ? Tone::kDoubtful : Tone::kBad;
}

/// The table of verdicts, each row in the color of its verdict.
std::string VerdictTable(const mig::Recommendation& advice,
                         const TerminalStyle& style) {
  std::istringstream table(mig::FormatTable(advice));
  std::string text;
  std::size_t row = 0;
  for (std::string line; std::getline(table, line); ++row) {
    const std::size_t index = row - 1;  // Below the header.
    // The sentence after the table is already printed above it.
    if (row > advice.profiles.size() + 1) break;
    const Tone tone = row == 0 ? Tone::kLabel
                               : ToneOf(index < advice.profiles.size()
                                            ? advice.profiles[index].fit
                                            : advice.whole_device.fit);
    text += Painted(Wrapped(line, style.width, 2), tone, style) + "\n";
  }
  return text;
}

void AddTimes(const Prediction& prediction, ReportLines& lines) {
  const Figure& latency = prediction[Target::kLatency];
  const Figure& energy = prediction[Target::kEnergy];
  lines.Add("latency",
            fmt::format("{} ms   ({})   {}{}", FormatSignificant(latency.value),
                        RangeText(latency.interval), HostText(prediction),
                        DistanceText(latency.source)));
  lines.Add("  " + std::string(BoundText(prediction.bound)),
            fmt::format("{} ms of kernels, {} ms of CPU launch time",
                        FormatSignificant(prediction.cost.gpu_ms),
                        FormatSignificant(prediction.cost.dispatch_ms)));
  lines.Add("energy",
            fmt::format("{} J   ({}){}", FormatSignificant(energy.value),
                        RangeText(energy.interval), LimitText(prediction.run)));
}

/// The GPUs of a pipeline.
void AddStages(const Prediction& prediction, ReportLines& lines) {
  for (std::size_t i = 0; i < prediction.stages.size(); ++i) {
    const StageFigures& stage = prediction.stages[i];
    lines.Add(
        fmt::format("    GPU {}", i),
        fmt::format("{} MiB, {} ms busy, {} passes in flight{}   {}",
                    FormatSignificant(stage.memory_mib),
                    FormatSignificant(stage.busy_ms), stage.in_flight,
                    i == prediction.stage ? ", shown here" : "", stage.blocks));
  }
  if (prediction.stages.empty()) return;
  lines.Add("  bubble",
            fmt::format("{} ms of {} ms without work",
                        FormatSignificant(prediction.cost.bubble_ms),
                        FormatSignificant(prediction.cost.latency_ms)));
}

std::string HostLinkText(const LinkFigures& link) {
  return fmt::format(
      "{} ms of copies and host steps, {} over a link of {} GB/s",
      FormatSignificant(link.busy_ms),
      Mib(static_cast<std::int64_t>(link.bytes)), FormatSignificant(link.gb_s));
}

/// How much of what goes over links nothing hides.
std::string LongerText(const CostEstimate& cost) {
  return fmt::format("; {} ms longer for them",
                     FormatSignificant(cost.exposed_link_ms));
}

/// What the GPUs of --parallel exchange, and copies to the host of cpu-offload.
void AddParallel(const Report& report, ReportLines& lines) {
  if (!report.parallel) return;
  const CostEstimate& cost = report.prediction.cost;
  const bool has_host = cost.host_link.busy_ms > 0;
  lines.Add("parallel",
            fmt::format("{}   memory and times of one of {} GPUs",
                        report.parallel->plan, report.parallel->gpus));
  lines.Add("  link",
            fmt::format("{} ms of {} exchanges, {} sent at {} GB/s{}",
                        FormatSignificant(cost.gpu_link.busy_ms),
                        report.parallel->exchanges,
                        Mib(static_cast<std::int64_t>(cost.gpu_link.bytes)),
                        FormatSignificant(cost.gpu_link.gb_s),
                        has_host ? "" : LongerText(cost)));
  if (has_host) {
    lines.Add("  host", HostLinkText(cost.host_link) + LongerText(cost));
  }
  if (report.parallel->layers) {
    lines.Add("  layers", SharedLayersText(*report.parallel->layers));
  }
  AddStages(report.prediction, lines);
}

/// Copies to the host and back.
void AddOffload(const Report& report, ReportLines& lines) {
  const CostEstimate& cost = report.prediction.cost;
  if (report.parallel || cost.host_link.busy_ms == 0) return;
  lines.Add("offload", HostLinkText(cost.host_link) + LongerText(cost));
}

Tone ToneOf(Outcome outcome) {
  constexpr Tone kTones[] = {Tone::kGood, Tone::kDoubtful, Tone::kBad};
  return kTones[static_cast<std::size_t>(outcome)];
}

/// The line of the memory for people, and its bar below.
std::string WithBar(const std::string& line, const Report& report,
                    const TerminalStyle& style) {
  if (style.width == 0) return line;
  const std::vector<MemoryPart> parts = MemoryParts(report);
  return fmt::format("{}{:{}}{}\n", WithPartColors(line, parts, style), "",
                     kTextColumn, MemoryBar(parts, kBarColumns, style));
}

std::string FormatSummary(const Report& report, const TerminalStyle& style) {
  const Summary summary = Summarize(report);
  std::string text = Painted(Wrapped(Printable(summary.title), style.width, 2),
                             Tone::kLabel, style) +
                     "\n";
  if (!summary.inputs.empty()) {
    text +=
        Wrapped("input " + Printable(summary.inputs), style.width, 2) + "\n";
  }
  text += Wrapped("on " + summary.place, style.width, 2) + "\n\n";
  Tone tone = ToneOf(summary.outcome);
  for (const SummaryLine& line : summary.lines) {
    ReportLines lines(style);
    lines.Add(line.label, line.text, tone);
    const bool is_memory = line.label == "memory";
    text += is_memory ? WithBar(lines.text(), report, style) : lines.text();
    tone = Tone::kPlain;
  }
  return text;
}

/// Every figure that the summary rounds or leaves out.
std::string FormatDetails(const Report& report, const TerminalStyle& style) {
  const Prediction& prediction = report.prediction;
  ReportLines lines(style);
  lines.Add("method", prediction.Method());
  lines.Add("network",
            fmt::format("{} parameters, {} MACs, {} ({})",
                        FormatCount(report.parameters),
                        FormatCount(report.static_features.macs),
                        Counted(report.operators, "operator"), report.format));
  AddMemory(report, lines);
  AddTimes(prediction, lines);
  AddParallel(report, lines);
  AddOffload(report, lines);
  const mig::Recommendation& advice = report.recommendation;
  if (advice.profiles.empty()) return lines.text();
  lines.Add(
      "MIG",
      fmt::format("{}: {}", advice.profile.value_or("none"), advice.reason),
      advice.profile ? Tone::kGood : Tone::kPlain);
  return fmt::format("{}\n{}", lines.text(), VerdictTable(advice, style));
}

std::string FormatReport(const Report& report, const TerminalStyle& style,
                         Detail detail) {
  std::string text = FormatSummary(report, style);
  ReportLines warnings(style);
  for (const std::string& warning : report.warnings) {
    warnings.Add("warning", warning, Tone::kDoubtful);
  }
  text += warnings.text();
  if (detail == Detail::kAll) text += "\n" + FormatDetails(report, style);
  return text;
}

/// Figures of a CSV line: six digits after the point.
std::string Decimal(double value) { return FormatNumber(value, 6); }

std::string Whole(std::int64_t value) { return fmt::format("{}", value); }

std::string FormatTable(std::span<const Report> reports) {
  TextTable table({"model", "batch", "", "memory MiB", "at most", "latency ms",
                   "bound", "energy J", "MIG profile"});
  for (const Report& report : reports) {
    const Prediction& prediction = report.prediction;
    table.AddRow({report.model, fmt::format("{}", report.batch),
                  std::string(OutcomeName(
                      OutcomeOf(report.recommendation.whole_device))),
                  FormatSignificant(prediction[Target::kMemory].value),
                  FormatSignificant(prediction[Target::kMemory].interval.hi),
                  FormatSignificant(prediction[Target::kLatency].value),
                  std::string(StepBoundName(prediction.bound)),
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

std::string SharedLayersText(const SharedLayerCounts& layers) {
  return fmt::format("{} by columns, {} by rows, {} whole on every GPU",
                     layers.columns, layers.rows, layers.whole);
}

std::string FormatReports(std::span<const Report> reports,
                          const TerminalStyle& style, Detail detail) {
  if (reports.empty()) return "";
  return reports.size() == 1 ? FormatReport(reports.front(), style, detail)
                             : FormatTable(reports);
}

std::string FormatCsv(std::span<const Report> reports) {
  std::string text =
      "model,format,device,environment,mode,grad_mode,optimizer,precision,"
      "batch,"
      "parameters,operators,macs,memory_mib,memory_lo_mib,memory_hi_mib,"
      "memory_least_mib,"
      "allocated_mib,reserved_mib,context_mib,latency_ms,latency_lo_ms,"
      "latency_hi_ms,latency_bound,gpu_ms,dispatch_ms,energy_j,energy_lo_j,"
      "energy_hi_j,mig_profile,method\n";
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
        std::string(StepBoundName(p.bound)),
        Decimal(p.cost.gpu_ms),
        Decimal(p.cost.dispatch_ms),
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
