#include "src/judge/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/core/name_table.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/units.h"

namespace foretell {
namespace {

constexpr NameTable<3> kOutcomes = {"fits", "tight", "does not fit"};
constexpr NameTable<3> kOutcomeLabels = {"FITS", "TIGHT", "DOES NOT FIT"};
constexpr NameTable<3> kBounds = {"GPU-bound", "host-bound", "link-bound"};

constexpr double kMsPerS = 1e3;
constexpr double kMibPerGib = 1024;

/// Inputs of a summary's first lines; more are counted.
constexpr std::size_t kMostInputs = 3;

/// A part of less than this share of the whole is one of "other".
constexpr double kLeastShare = 0.02;

/// Cards by size, and the device whose usable memory is used for each.
struct CardRow {
  int gb;
  const char* device;
};
constexpr std::array<CardRow, 3> kCards = {
    {{24, "rtx-4090"}, {40, "a100-sxm4-40gb"}, {80, "a100-sxm4-80gb"}}};

/// Whether an input is a matrix of token ids by sample. The edges of a graph
/// are not: their first dimension is not the batch.
bool HoldsTokens(const TensorType& type, std::int64_t batch) {
  const bool is_integer =
      type.dtype == DType::kI64 || type.dtype == DType::kI32;
  return is_integer && type.shape.size() == 2 && type.shape.front() == batch;
}

/// Whether the interval of memory would be narrower if the environment were
/// named.
bool IsOpenContext(const Prediction& prediction) {
  return prediction.has_guessed_context &&
         !prediction[Target::kMemory].source.IsLearned();
}

std::string OutcomeText(const Report& report) {
  const mig::Verdict& verdict = report.recommendation.whole_device;
  std::string text = fmt::format(
      "{} of {} GiB (at most {}{})", GibText(verdict.total_mib),
      GibText(static_cast<double>(verdict.usable_mib)),
      GibText(verdict.needed_mib),
      IsOpenContext(report.prediction) ? ", narrower with --environment" : "");
  if (verdict.host_share_mib > 0) {
    text += fmt::format("; the host keeps {} GiB of the pool",
                        GibText(static_cast<double>(verdict.host_share_mib)));
  }
  if (verdict.fit == mig::Fit::kFitsWithoutCache) {
    text += "; fits only by emptying the allocator's cache";
  }
  if (report.parallel) {
    return fmt::format("{} on each of {} GPUs", text, report.parallel->gpus);
  }
  if (report.recommendation.profile) {
    text +=
        fmt::format("; smallest MIG slice {}", *report.recommendation.profile);
  }
  return text;
}

/// "150 samples/s, 76705 tokens/s"
std::string RateText(const Throughput& rate) {
  std::string text =
      fmt::format("{} samples/s", FormatSignificant(rate.samples_per_s));
  if (rate.tokens_per_s) {
    text += fmt::format(", {} tokens/s", FormatSignificant(*rate.tokens_per_s));
  }
  return text;
}

/// " on each GPU (8 GPUs: 1200 samples/s, 613640 tokens/s)"; empty where all
/// GPUs share one batch.
std::string TotalText(const Throughput& rate, const Report& report) {
  if (!report.parallel || report.parallel->batches == 1) return "";
  const std::int64_t gpus = report.parallel->gpus;
  const std::int64_t group = gpus / report.parallel->batches;
  return fmt::format(" on each {} ({} GPUs: {})",
                     group == 1 ? "GPU" : fmt::format("group of {}", group),
                     gpus, RateText(TotalOf(rate, report)));
}

std::string SpeedText(const Report& report) {
  const Figure& latency = report.prediction[Target::kLatency];
  const Throughput rate = ThroughputOf(report);
  const std::string text = fmt::format(
      "{} ms per {} ({}), {}{}", FormatSignificant(latency.value),
      report.mode == Mode::kTraining ? "step" : "batch",
      RangeText(latency.interval), RateText(rate), TotalText(rate, report));
  const Prediction& prediction = report.prediction;
  const bool is_open = prediction.bound == StepBound::kHost &&
                       prediction.has_default_host &&
                       !latency.source.IsLearned();
  return fmt::format("{}, {}{}", text, BoundText(prediction.bound),
                     is_open ? ", narrower with --host" : "");
}

std::string EnergyText(const Report& report) {
  const Figure& energy = report.prediction[Target::kEnergy];
  return fmt::format("{} J per {} ({})", FormatSignificant(energy.value),
                     report.mode == Mode::kTraining ? "step" : "batch",
                     RangeText(energy.interval));
}

/// The parts above a few percent by name, the others as one.
std::string PartsText(const std::vector<MemoryPart>& parts) {
  double whole = 0;
  for (const MemoryPart& part : parts) whole += part.mib;
  std::vector<std::string> texts;
  double other = 0;
  for (const MemoryPart& part : parts) {
    if (part.mib < kLeastShare * whole) {
      other += part.mib;
    } else {
      texts.push_back(fmt::format("{} {} GiB", part.name, GibText(part.mib)));
    }
  }
  if (other > 0) texts.push_back(fmt::format("other {} GiB", GibText(other)));
  return Joined(texts);
}

std::string PeakText(const Report& report) {
  if (report.peak_operator.empty()) return "before the first operator";
  return fmt::format(
      "in {}, {}", report.peak_operator,
      report.peak_phase == Phase::kOptimizer
          ? "the optimizer step"
          : fmt::format("the {} pass", PhaseName(report.peak_phase)));
}

/// "length 64 9.21 ms, length 512 60 ms ×2; mean 43.1 ms"
std::string PassesText(const Report& report) {
  std::vector<std::string> texts;
  for (const ReportPass& pass : report.passes) {
    texts.push_back(fmt::format(
        "{} {} ms{}", pass.label, FormatSignificant(pass.figures.latency_ms),
        pass.runs > 1 ? fmt::format(" ×{}", pass.runs) : ""));
  }
  if (!report.mean_latency_ms) return Joined(texts);
  return fmt::format("{}; mean {} ms", Joined(texts),
                     FormatSignificant(*report.mean_latency_ms));
}

std::string CardsText(const std::vector<CardOutcome>& cards) {
  std::vector<std::string> texts;
  for (const CardOutcome& card : cards) {
    texts.push_back(
        fmt::format("{} GB {}", card.gb, OutcomeName(card.outcome)));
  }
  return Joined(texts);
}

/// "--recompute auto → at most 6.1 GiB, 510 ms"
std::string SuggestionText(const ReportSuggestion& suggestion) {
  return fmt::format("{} → at most {} GiB, {} ms", suggestion.flags,
                     GibText(suggestion.at_most_mib),
                     FormatSignificant(suggestion.latency_ms));
}

/// "40 operators in ONNX Runtime, 49 in PyTorch; --runtime onnxruntime …"
std::string OrtText(const ReportOrt& ort) {
  return fmt::format(
      "{} in ONNX Runtime, {} in PyTorch; --runtime onnxruntime predicts it",
      Counted(ort.operators, "operator"), ort.eager);
}

/// The run's precision; where that leaves the file's types alone, the type of
/// most of its weights.
std::string StoredPrecision(const Report& report) {
  const auto most = std::ranges::max_element(
      report.weights, {}, [](const auto& one) { return one.second; });
  const bool is_own = report.precision != Precision::kFp32 ||
                      most == report.weights.end() ||
                      most->first == DType::kF32;
  return is_own ? std::string(PrecisionName(report.precision))
                : fmt::format("{} weights", DTypeName(most->first));
}

std::string InputsText(const std::vector<ReportTensor>& inputs) {
  std::vector<std::string> texts;
  for (const ReportTensor& input : inputs) {
    if (texts.size() == kMostInputs) {
      texts.push_back(fmt::format("{} more", inputs.size() - kMostInputs));
      break;
    }
    texts.push_back(fmt::format("{} {}", input.name, ToString(input.type)));
  }
  return Joined(texts);
}

std::string Title(const Report& report) {
  std::string text =
      fmt::format("{} · {} · {} · batch {}", report.model, ModeText(report),
                  PrecisionText(report), report.batch);
  for (const std::string& flag : report.setup) {
    text += fmt::format(" · {}", flag);
  }
  return text;
}

std::string Place(const Report& report) {
  std::string text =
      fmt::format("{} · CUDA context of {}", report.prediction.device,
                  report.prediction.context);
  if (report.parallel) text += fmt::format(" · {}", report.parallel->plan);
  return text;
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  return NameIn(kOutcomes, outcome);
}

Outcome OutcomeOf(const mig::Verdict& verdict) {
  if (verdict.fit == mig::Fit::kFits) return Outcome::kFits;
  const bool estimate_fits = mig::FitsMemory(
      verdict.total_mib, static_cast<double>(verdict.usable_mib));
  return estimate_fits || verdict.fit == mig::Fit::kFitsWithoutCache
             ? Outcome::kTight
             : Outcome::kDoesNotFit;
}

Throughput ThroughputOf(const Report& report) {
  const double ms = report.prediction[Target::kLatency].value;
  if (ms <= 0) return {};
  const double batches_per_s =
      kMsPerS * static_cast<double>(report.batches_per_step) / ms;
  Throughput rate = {.samples_per_s =
                         batches_per_s * static_cast<double>(report.batch)};
  for (const ReportTensor& input : report.inputs) {
    if (!HoldsTokens(input.type, report.batch)) continue;
    rate.tokens_per_s =
        batches_per_s * static_cast<double>(input.type.NumElements());
    break;
  }
  return rate;
}

Throughput TotalOf(const Throughput& rate, const Report& report) {
  const double batches =
      report.parallel ? static_cast<double>(report.parallel->batches) : 1;
  Throughput total = {.samples_per_s = batches * rate.samples_per_s};
  if (rate.tokens_per_s) total.tokens_per_s = batches * *rate.tokens_per_s;
  return total;
}

std::vector<MemoryPart> MemoryParts(const Report& report) {
  const MemoryBreakdown& memory = report.prediction.memory;
  const std::pair<const char*, std::int64_t> parts[] = {
      {"CUDA context", memory.context},
      {"NCCL buffers", memory.link_buffers},
      {"parameters", memory.AtPeak(TensorRole::kParameter)},
      {"buffers", memory.AtPeak(TensorRole::kBuffer)},
      {"inputs", memory.AtPeak(TensorRole::kInput)},
      {"activations", memory.ActivationsAtPeak()},
      {"gradients", memory.AtPeak(TensorRole::kGradient)},
      {"optimizer states", memory.AtPeak(TensorRole::kOptimizerState)},
      {"temporaries", memory.AtPeak(TensorRole::kBackwardTemporary) +
                          memory.AtPeak(TensorRole::kOptimizerTemporary)},
      {"workspaces", memory.at_peak_workspace},
      {"allocator cache",
       memory.reserved_peak - memory.allocated_peak + memory.at_peak_rounding}};
  std::vector<MemoryPart> list;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) list.push_back({name, ToMiB(bytes)});
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &MemoryPart::mib);
  return list;
}

std::vector<CardOutcome> CommonCards(const Report& report) {
  mig::Verdict verdict = report.recommendation.whole_device;
  const double cache_mib = report.prediction.cache_mib;
  std::vector<CardOutcome> cards;
  for (const CardRow& row : kCards) {
    verdict.usable_mib =
        DeviceCatalog::BuiltIn().FindDevice(row.device).usable_mib;
    verdict.fit = mig::JudgeMemory(verdict.needed_mib, cache_mib,
                                   static_cast<double>(verdict.usable_mib));
    cards.push_back({row.gb, OutcomeOf(verdict)});
  }
  return cards;
}

Summary Summarize(const Report& report) {
  Summary summary{.outcome = OutcomeOf(report.recommendation.whole_device),
                  .title = Title(report),
                  .inputs = InputsText(report.inputs),
                  .place = Place(report)};
  summary.lines = {{std::string(NameIn(kOutcomeLabels, summary.outcome)),
                    OutcomeText(report)},
                   {"speed", SpeedText(report)},
                   {"energy", EnergyText(report)},
                   {"memory", PartsText(MemoryParts(report))},
                   {"peak", PeakText(report)},
                   {"cards", CardsText(CommonCards(report))}};
  if (!report.passes.empty()) {
    summary.lines.push_back({"passes", PassesText(report)});
  }
  if (report.onnx_runtime) {
    summary.lines.push_back({"runtime", OrtText(*report.onnx_runtime)});
  }
  if (!report.loss.empty()) summary.lines.push_back({"loss", report.loss});
  if (report.suggestion) {
    summary.lines.push_back({"try", SuggestionText(*report.suggestion)});
  }
  return summary;
}

std::string ModeText(const Report& report) {
  return fmt::format("{}{}{}{}", ModeName(report.mode),
                     report.grad_mode ? " without torch.no_grad()" : "",
                     report.optimizer.empty() ? "" : " with ",
                     report.optimizer);
}

std::string PrecisionText(const Report& report) {
  const std::string precision = StoredPrecision(report);
  if (!report.autocast) return precision;
  return fmt::format("{} with autocast to {}", precision,
                     DTypeName(*report.autocast));
}

std::string_view BoundText(StepBound bound) { return NameIn(kBounds, bound); }

std::string RangeText(const Interval& interval) {
  return fmt::format("{} – {}", FormatSignificant(interval.lo),
                     FormatSignificant(interval.hi));
}

std::string GibText(double mib) {
  const double gib = mib / kMibPerGib;
  return FormatNumber(gib, gib < 10 ? 2 : gib < 100 ? 1 : 0);
}

}  // namespace foretell
