#include "src/judge/report_json.h"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>

#include "src/core/units.h"
#include "src/judge/summary.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

double Rounded(double value) { return RoundedForJson(value); }

Json Mib(std::int64_t bytes) { return Rounded(ToMiB(bytes)); }

Json IntervalJson(const Interval& interval) {
  return Json::array({Rounded(interval.lo), Rounded(interval.hi)});
}

Json TensorsJson(const std::vector<ReportTensor>& tensors) {
  Json list = Json::array();
  for (const ReportTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", DTypeName(tensor.type.dtype)},
                    {"shape", tensor.type.shape},
                    {"place", tensor.on_host ? "host" : "device"}});
  }
  return list;
}

/// With the dimensions that no flag gave a size.
Json InputsJson(const std::vector<ReportTensor>& inputs) {
  Json list = TensorsJson(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Json& open = list[i]["from_example"] = Json::object();
    for (const auto& [dim, symbol] : inputs[i].from_example) {
      open[fmt::format("{}", dim)] = symbol;
    }
  }
  return list;
}

Json WeightsJson(const std::map<DType, std::int64_t>& weights) {
  Json json = Json::object();
  for (const auto& [dtype, elements] : weights) {
    json[std::string(DTypeName(dtype))] = elements;
  }
  return json;
}

Json StaticFeaturesJson(const StaticFeatures& features) {
  return {{"macs", features.macs},
          {"batch", features.batch},
          {"convolutions", features.convolutions},
          {"dense", features.dense},
          {"relus", features.relus}};
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json LiveTensorsJson(const std::vector<ReportLiveTensor>& live) {
  Json list = Json::array();
  for (const auto& [tensor, producer] : live) {
    list.push_back(
        {{"label", tensor.label},
         {"type", tensor.type ? Json(ToString(*tensor.type)) : Json(nullptr)},
         {"mib", Mib(tensor.bytes)},
         {"role", TensorRoleName(tensor.role)},
         {"operator", TextOrNull(producer)}});
  }
  return list;
}

Json OrNull(const std::optional<double>& number) {
  return number ? Json(Rounded(*number)) : Json(nullptr);
}

Json SourceJson(const FigureSource& source) {
  return {{"method", source.method},
          {"trained_on", source.trained_on},
          {"distance", OrNull(source.distance)},
          {"far_distance", OrNull(source.far_distance)}};
}

Json CardsJson(const Report& report) {
  Json cards = Json::array();
  for (const CardOutcome& card : CommonCards(report)) {
    cards.push_back({{"gb", card.gb}, {"outcome", OutcomeName(card.outcome)}});
  }
  return cards;
}

Json SuggestionJson(const std::optional<ReportSuggestion>& suggestion) {
  if (!suggestion) return nullptr;
  return {{"flags", suggestion->flags},
          {"at_most_mib", Rounded(suggestion->at_most_mib)},
          {"latency_ms", Rounded(suggestion->latency_ms)}};
}

Json PartsJson(const Report& report) {
  Json parts = Json::array();
  for (const MemoryPart& part : MemoryParts(report)) {
    parts.push_back({{"name", part.name}, {"mib", Rounded(part.mib)}});
  }
  return parts;
}

/// What a reader asks first, in numbers and as the lines that text shows.
Json VerdictJson(const Report& report) {
  const Summary summary = Summarize(report);
  const mig::Verdict& device = report.recommendation.whole_device;
  const Throughput rate = ThroughputOf(report);
  const Throughput total = TotalOf(rate, report);
  Json lines = Json::array();
  for (const auto& [label, text] : summary.lines) {
    lines.push_back({{"label", label}, {"text", text}});
  }
  return {{"outcome", OutcomeName(summary.outcome)},
          {"estimate_mib", Rounded(device.total_mib)},
          {"at_most_mib", Rounded(device.needed_mib)},
          {"usable_mib", device.usable_mib},
          {"samples_per_s", Rounded(rate.samples_per_s)},
          {"tokens_per_s", OrNull(rate.tokens_per_s)},
          {"total_samples_per_s", Rounded(total.samples_per_s)},
          {"total_tokens_per_s", OrNull(total.tokens_per_s)},
          {"cards", CardsJson(report)},
          {"parts", PartsJson(report)},
          {"suggestion", SuggestionJson(report.suggestion)},
          {"title", summary.title},
          {"inputs", TextOrNull(summary.inputs)},
          {"place", summary.place},
          {"lines", std::move(lines)}};
}

Json MemoryJson(const Report& report) {
  const MemoryBreakdown& memory = report.prediction.memory;
  const Figure& figure = report.prediction[Target::kMemory];
  const std::int64_t temporaries =
      memory.AtPeak(TensorRole::kBackwardTemporary) +
      memory.AtPeak(TensorRole::kOptimizerTemporary);
  return {{"total_mib", Rounded(figure.value)},
          {"interval_mib", IntervalJson(figure.interval)},
          {"least_mib", Rounded(report.prediction.LeastMib())},
          {"on_device_mib", OrNull(report.prediction.on_device_mib)},
          {"grad_mode_mib", OrNull(report.grad_mode_mib)},
          {"source", SourceJson(figure.source)},
          {"allocated_mib", Mib(memory.allocated_peak)},
          {"reserved_mib", Mib(memory.reserved_peak)},
          {"context_mib", Mib(memory.context)},
          {"workspace_mib", Mib(memory.workspace_peak)},
          {"parameters_mib", Mib(memory.AtPeak(TensorRole::kParameter))},
          {"buffers_mib", Mib(memory.AtPeak(TensorRole::kBuffer))},
          {"inputs_mib", Mib(memory.AtPeak(TensorRole::kInput))},
          {"activations_mib", Mib(memory.ActivationsAtPeak())},
          {"gradients_mib", Mib(memory.AtPeak(TensorRole::kGradient))},
          {"optimizer_mib", Mib(memory.AtPeak(TensorRole::kOptimizerState))},
          {"temporaries_mib", Mib(temporaries)},
          {"workspace_at_peak_mib", Mib(memory.at_peak_workspace)},
          {"rounding_mib", Mib(memory.at_peak_rounding)},
          {"peak_operator", TextOrNull(report.peak_operator)},
          {"peak_phase", PhaseName(report.peak_phase)},
          {"largest_tensors", LiveTensorsJson(report.largest_at_peak)}};
}

Json CoverageJson(const Coverage& coverage) {
  return {{"operators", Rounded(coverage.operators)},
          {"macs", Rounded(coverage.macs)},
          {"bytes", Rounded(coverage.bytes)},
          {"unknown_operators", coverage.unknown_operators}};
}

Json ProfileJson(const mig::Verdict& verdict) {
  return {{"profile", verdict.profile},
          {"usable_mib", verdict.usable_mib},
          {"total_mib", Rounded(verdict.total_mib)},
          {"fits", verdict.fits},
          {"fit", mig::FitText(verdict.fit)},
          {"margin_mib", Rounded(verdict.margin_mib)},
          {"latency_ms", Rounded(verdict.latency_ms)},
          {"energy_j", Rounded(verdict.energy_j)},
          {"sms", verdict.sms},
          {"reason", verdict.reason}};
}

Json WholeDeviceJson(const mig::Verdict& verdict) {
  Json json = ProfileJson(verdict);
  json.erase("profile");
  return json;
}

Json MigJson(const mig::Recommendation& recommendation) {
  Json profiles = Json::array();
  for (const mig::Verdict& verdict : recommendation.profiles) {
    profiles.push_back(ProfileJson(verdict));
  }
  return {{"rule", mig::RuleName(recommendation.rule)},
          {"profile", TextOrNull(recommendation.profile.value_or(""))},
          {"reason", recommendation.reason},
          {"whole_device", WholeDeviceJson(recommendation.whole_device)},
          {"profiles", std::move(profiles)}};
}

Json LatencyJson(const Prediction& prediction) {
  const CostEstimate& cost = prediction.cost;
  const Figure& figure = prediction[Target::kLatency];
  return {{"ms", Rounded(figure.value)},
          {"interval_ms", IntervalJson(figure.interval)},
          {"source", SourceJson(figure.source)},
          {"compute_ms", Rounded(cost.compute_ms)},
          {"memory_ms", Rounded(cost.memory_ms)},
          {"overhead_ms", Rounded(cost.overhead_ms)},
          {"bound", StepBoundName(prediction.bound)},
          {"gpu_ms", Rounded(cost.gpu_ms)},
          {"dispatch_ms", Rounded(cost.dispatch_ms)},
          {"host", HostName(prediction.run.host)},
          {"host_name", TextOrNull(prediction.host.name)},
          {"host_factor", Rounded(prediction.host.factor)}};
}

Json PowerLimitJson(const Run& run) {
  return run.power_limit_w ? Json(*run.power_limit_w) : Json();
}

Json EnergyJson(const Prediction& prediction) {
  const Figure& figure = prediction[Target::kEnergy];
  return {{"j", Rounded(figure.value)},
          {"interval_j", IntervalJson(figure.interval)},
          {"source", SourceJson(figure.source)},
          {"average_power_w", Rounded(prediction.cost.average_power_w)},
          {"power_limit_w", PowerLimitJson(prediction.run)}};
}

/// Use of one of the links of `cost`.
Json LinkJson(const LinkFigures& link, const CostEstimate& cost) {
  return {{"link_gb_s", Rounded(link.gb_s)},
          {"sent_mib", Mib(static_cast<std::int64_t>(link.bytes))},
          {"link_ms", Rounded(link.busy_ms)},
          {"exposed_link_ms", Rounded(cost.exposed_link_ms)}};
}

/// What the GPUs of a plan send each other.
Json ParallelJson(const ReportParallel& parallel,
                  const Prediction& prediction) {
  Json json = {{"plan", parallel.plan},
               {"gpus", parallel.gpus},
               {"exchanges", parallel.exchanges},
               {"link_buffers_mib", Mib(prediction.memory.link_buffers)}};
  json.update(LinkJson(prediction.cost.gpu_link, prediction.cost));
  const LinkFigures& host = prediction.cost.host_link;
  if (host.busy_ms > 0) {
    json["host_link_gb_s"] = Rounded(host.gb_s);
    json["host_link_mib"] = Mib(static_cast<std::int64_t>(host.bytes));
    json["host_link_ms"] = Rounded(host.busy_ms);
  }
  if (parallel.layers) json["layers"] = SharedLayersToJson(*parallel.layers);
  if (prediction.stages.empty()) return json;
  json["gpu"] = prediction.stage;
  json["bubble_ms"] = Rounded(prediction.cost.bubble_ms);
  for (const StageFigures& stage : prediction.stages) {
    json["stages"].push_back({{"blocks", stage.blocks},
                              {"in_flight", stage.in_flight},
                              {"memory_mib", Rounded(stage.memory_mib)},
                              {"busy_ms", Rounded(stage.busy_ms)}});
  }
  return json;
}

/// What a process runs in turn, each pass once.
Json PassesJson(const std::vector<ReportPass>& passes) {
  Json list = Json::array();
  for (const ReportPass& pass : passes) {
    list.push_back({{"label", pass.label},
                    {"mode", ModeName(pass.mode)},
                    {"batch", pass.batch},
                    {"runs", pass.runs},
                    {"latency_ms", Rounded(pass.figures.latency_ms)},
                    {"energy_j", Rounded(pass.figures.energy_j)},
                    {"allocated_mib", Mib(pass.allocated_peak)}});
  }
  return list;
}

}  // namespace

double RoundedForJson(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int magnitude =
      static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = digits - 1 - magnitude;
  const double scale = std::pow(10.0, std::abs(decimals));
  return decimals >= 0 ? std::round(value * scale) / scale
                       : std::round(value / scale) * scale;
}

Json SharedLayersToJson(const SharedLayerCounts& layers) {
  return {{"columns", layers.columns},
          {"rows", layers.rows},
          {"whole", layers.whole}};
}

Json FigureToJson(const Figure& figure) {
  return {{"value", Rounded(figure.value)},
          {"interval", IntervalJson(figure.interval)},
          {"source", SourceJson(figure.source)}};
}

Json ReportToJson(const Report& report) {
  const Prediction& prediction = report.prediction;
  Json json = {{"model", report.model},
               {"format", report.format},
               {"device", prediction.device},
               {"environment", prediction.context},
               {"mode", ModeName(report.mode)},
               {"optimizer", TextOrNull(report.optimizer)},
               {"loss", TextOrNull(report.loss)},
               {"setup", report.setup},
               {"precision", PrecisionName(report.precision)},
               {"autocast",
                report.autocast ? Json(DTypeName(*report.autocast)) : Json()},
               {"grad_mode", report.grad_mode},
               {"batch", report.batch},
               {"verdict", VerdictJson(report)},
               {"parameters", report.parameters},
               {"operators", report.operators},
               {"static_features", StaticFeaturesJson(report.static_features)},
               {"weights", WeightsJson(report.weights)},
               {"inputs", InputsJson(report.inputs)},
               {"outputs", TensorsJson(report.outputs)},
               {"memory", MemoryJson(report)},
               {"latency", LatencyJson(prediction)},
               {"energy", EnergyJson(prediction)},
               {"method", prediction.Method()},
               {"coverage", CoverageJson(prediction.coverage)},
               {"warnings", report.warnings},
               {"mig", MigJson(report.recommendation)}};
  if (report.parallel) {
    json["parallel"] = ParallelJson(*report.parallel, prediction);
  } else if (prediction.cost.host_link.busy_ms > 0) {
    json["offload"] = LinkJson(prediction.cost.host_link, prediction.cost);
  }
  if (!report.passes.empty()) json["passes"] = PassesJson(report.passes);
  if (report.mean_latency_ms) {
    json["latency"]["mean_ms"] = Rounded(*report.mean_latency_ms);
  }
  return json;
}

Json ReportErrorToJson(const ReportError& error) {
  return {{"model", error.model},
          {"code", ErrorCodeName(error.code)},
          {"message", error.message}};
}

Json ErrorsToJson(std::span<const ReportError> errors) {
  Json failures = Json::array();
  for (const ReportError& error : errors) {
    failures.push_back(ReportErrorToJson(error));
  }
  return failures;
}

Json AnswersToJson(Json results, std::span<const ReportError> errors) {
  return {{"schema_version", kReportSchemaVersion},
          {"results", std::move(results)},
          {"errors", ErrorsToJson(errors)}};
}

Json ReportsToJson(std::span<const Report> reports,
                   std::span<const ReportError> errors) {
  Json results = Json::array();
  for (const Report& report : reports) results.push_back(ReportToJson(report));
  return AnswersToJson(std::move(results), errors);
}

}  // namespace foretell
