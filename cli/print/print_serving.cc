#include "cli/print/print_serving.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/judge/summary.h"

namespace foretell::cli {
namespace {

using Kind = CacheLayers::Kind;

constexpr int kServingSchemaVersion = 1;

std::string ServingLine(std::string_view label, const std::string& text) {
  return fmt::format("  {:<12} {}\n", label, text);
}

std::string GibOf(double bytes) {
  return GibText(bytes / static_cast<double>(kMiB)) + " GiB";
}

std::string KibOf(double bytes) {
  return FormatSignificant(bytes / static_cast<double>(kKiB)) + " KiB";
}

/// "26 full (8 heads), 5 window of 1024 tokens (8 heads)"
std::string LayersText(const Decoder& decoder) {
  std::vector<std::string> texts;
  for (const CacheLayers& one : decoder.layers) {
    std::string text = fmt::format("{} {}", one.layers, ToString(one.kind));
    if (one.window > 0) text += fmt::format(" of {} tokens", one.window);
    if (one.kind == Kind::kState) {
      text += fmt::format(" ({})", KibOf(static_cast<double>(one.state_bytes)));
    } else if (one.kind == Kind::kLatent) {
      text += fmt::format(" ({} numbers)", one.numbers);
    } else {
      text += fmt::format(" ({})", Counted(one.heads, "head"));
    }
    texts.push_back(std::move(text));
  }
  return Joined(texts);
}

std::string DeviceText(const ServingAnswer& answer) {
  const ServingRequest& request = answer.request;
  const ServingPlan& plan = answer.plan;
  std::string text = fmt::format(
      "on {}{} · {} of {}\n",
      request.tensor_parallel > 1
          ? fmt::format("each of {} ", request.tensor_parallel)
          : "",
      Printable(answer.device), FormatPercent(request.memory_utilization, 0),
      GibOf(request.usable_mib * static_cast<double>(kMiB)));
  if (!plan.weight_bytes) {
    return text +
           ServingLine("weights", "unknown; --parameters N says how many");
  }
  text += ServingLine(
      "weights", fmt::format("{} ({} parameters)", GibOf(*plan.weight_bytes),
                             FormatCount(request.parameters)));
  text += ServingLine(
      "activations",
      fmt::format("{} for {} tokens and {} (estimate)",
                  GibOf(plan.activation_bytes), request.batched_tokens,
                  Counted(request.sequences, "sequence")));
  text += ServingLine("cache", plan.cache_bytes > 0 ? GibOf(plan.cache_bytes)
                                                    : "nothing remains");
  return text + ServingLine("concurrency",
                            fmt::format("{:.2f} sequences of {} tokens",
                                        plan.concurrency, request.context));
}

nlohmann::ordered_json LayersJson(const ServingAnswer& answer) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CacheLayers& one : answer.decoder.layers) {
    list.push_back({{"kind", ToString(one.kind)},
                    {"layers", one.layers},
                    {"heads", one.heads},
                    {"window", one.window},
                    {"token_bytes", TokenBytes(one, answer.request)},
                    {"state_bytes", one.state_bytes}});
  }
  return list;
}

nlohmann::ordered_json DeviceJson(const ServingAnswer& answer) {
  const ServingPlan& plan = answer.plan;
  nlohmann::ordered_json json = {
      {"device", answer.device},
      {"usable_mib", answer.request.usable_mib},
      {"memory_utilization", answer.request.memory_utilization},
      {"parameters", answer.request.parameters}};
  if (!plan.weight_bytes) return json;
  json["weight_bytes"] = *plan.weight_bytes;
  json["activation_bytes"] = plan.activation_bytes;
  json["cache_bytes"] = plan.cache_bytes;
  json["concurrency"] = plan.concurrency;
  return json;
}

}  // namespace

std::string FormatServing(const ServingAnswer& answer) {
  const ServingRequest& request = answer.request;
  const ServingPlan& plan = answer.plan;
  std::string text = fmt::format(
      "{} · cache in {}{}\n", Printable(answer.model), ToString(request.cache),
      plan.block_tokens > 0
          ? fmt::format(", blocks of {} tokens", plan.block_tokens)
          : "");
  text += ServingLine("layers", LayersText(answer.decoder));
  text += ServingLine("token", KibOf(plan.token_bytes));
  text += ServingLine(
      "sequence",
      fmt::format("{} at {} tokens, {} in blocks", GibOf(plan.sequence_bytes),
                  request.context, GibOf(plan.allocated_bytes)));
  return text + DeviceText(answer);
}

std::string FormatServingJson(const ServingAnswer& answer) {
  const ServingPlan& plan = answer.plan;
  const nlohmann::ordered_json document = {
      {"schema_version", kServingSchemaVersion},
      {"model", answer.model},
      {"model_type", answer.decoder.model_type},
      {"cache_format", ToString(answer.request.cache)},
      {"context", answer.request.context},
      {"tensor_parallel", answer.request.tensor_parallel},
      {"layers", LayersJson(answer)},
      {"token_bytes", plan.token_bytes},
      {"sequence_bytes", plan.sequence_bytes},
      {"allocated_bytes", plan.allocated_bytes},
      {"block_tokens", plan.block_tokens},
      {"gpu", DeviceJson(answer)}};
  return DumpJson(document) + "\n";
}

}  // namespace foretell::cli
