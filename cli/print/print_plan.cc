#include "cli/print/print_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

std::string UsableText(double usable, double memory) {
  return fmt::format("{} of {} MiB are usable", FormatNumber(usable, 1),
                     FormatNumber(memory, 1));
}

/// Where the device holds less than is usable, it decides.
std::string UsableText(const PlannedModel& planned) {
  const std::string text = UsableText(planned.usable_mib, planned.memory_mib);
  if (planned.device_mib >= planned.usable_mib) return text;
  return fmt::format("{}, but {} on the device", text,
                     FormatNumber(planned.device_mib, 1));
}

nlohmann::ordered_json OrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

std::string ShapeText(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{}", fmt::join(sizes, " x "));
}

double MiBOf(double bytes) { return bytes / static_cast<double>(kMiB); }

/// "chunks=(64, 64)", of several arrays with the axes of each.
std::string DaskText(const PlannedVolume& planned) {
  const Footprint& footprint = planned.footprint;
  const std::vector<std::string> chunks = DaskChunks(footprint, planned.plan);
  std::string text;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    text += fmt::format("chunks={}", chunks[i]);
    if (i < footprint.arrays.size()) {
      text += fmt::format("  # {}", Joined(footprint.arrays[i]));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string FormatPlannedModel(const PlannedModel& planned) {
  std::string text = fmt::format(
      "{} {}{}\n{} on {} needs up to {} MiB; {}\n", planned.axis, planned.value,
      planned.is_limit ? " (--limit)" : "", planned.model, planned.place,
      FormatNumber(planned.needed_mib, 1), UsableText(planned));
  if (!planned.smallest_refusal.empty()) {
    text += fmt::format(
        "the model accepts none below {}: {}\n"
        "",
        planned.smallest, Printable(planned.smallest_refusal));
  }
  if (!planned.refusal.empty()) {
    text += fmt::format(
        "the model accepts no larger value: {}\n"
        "",
        Printable(planned.refusal));
  }
  return text;
}

std::string SmallestDoesNotFit(const PlannedModel& planned) {
  return fmt::format("{}: {} {} needs up to {} MiB, and {}", planned.model,
                     planned.axis, planned.smallest,
                     FormatNumber(planned.needed_mib, 1), UsableText(planned));
}

nlohmann::ordered_json PlannedModelToJson(const PlannedModel& planned) {
  return {{"schema_version", kPlanSchemaVersion},
          {"model", planned.model},
          {"place", planned.place},
          {"axis", planned.axis},
          {"value", planned.value},
          {"step", planned.step},
          {"is_limit", planned.is_limit},
          {"refusal", OrNull(planned.refusal)},
          {"smallest", planned.smallest},
          {"smallest_refusal", OrNull(planned.smallest_refusal)},
          {"needed_mib", RoundedForJson(planned.needed_mib)},
          {"memory_mib", RoundedForJson(planned.memory_mib)},
          {"usable_mib", RoundedForJson(planned.usable_mib)},
          {"device_mib", RoundedForJson(planned.device_mib)}};
}

std::string FormatPlannedVolume(const PlannedVolume& planned) {
  const ChunkPlan& plan = planned.plan;
  const std::string& dtype = planned.footprint.dtype;
  return fmt::format(
      "{}{}{}{}: {} of {}, read as {}\na worker takes up to {} MiB; {}\n",
      DaskText(planned), planned.footprint.algorithm, dtype.empty() ? "" : " ",
      dtype, Counted(plan.chunks, "chunk"), ShapeText(plan.chunk),
      ShapeText(plan.block), FormatNumber(MiBOf(plan.peak_bytes), 1),
      UsableText(MiBOf(plan.usable_bytes),
                 ToMiB(planned.request.memory_bytes)));
}

nlohmann::ordered_json PlannedVolumeToJson(const PlannedVolume& planned) {
  const Footprint& footprint = planned.footprint;
  const ChunkPlan& plan = planned.plan;
  const bool fits = plan.chunks > 0;
  const auto or_null = [fits](nlohmann::ordered_json value) {
    return fits ? std::move(value) : nlohmann::ordered_json();
  };
  return {{"schema_version", kPlanSchemaVersion},
          {"algorithm", footprint.algorithm},
          {"dtype", footprint.dtype},
          {"axes", footprint.axes},
          {"shape", planned.request.shape},
          {"chunk", or_null(plan.chunk)},
          {"block", or_null(plan.block)},
          {"chunks", plan.chunks},
          {"dask_chunks",
           fits ? DaskChunks(footprint, plan) : std::vector<std::string>()},
          {"peak_mib", or_null(RoundedForJson(MiBOf(plan.peak_bytes)))},
          {"usable_mib", RoundedForJson(MiBOf(plan.usable_bytes))},
          {"memory_mib", RoundedForJson(ToMiB(planned.request.memory_bytes))},
          {"formula", FootprintFormula(footprint)},
          {"error", RoundedForJson(footprint.error)}};
}

std::string FormatFootprint(const Footprint& footprint) {
  std::string text = fmt::format(
      "peak bytes = {}\n"
      "leave-one-out error over {}: {}, at most {}\n"
      "",
      FootprintFormula(footprint), Counted(footprint.runs.size(), "run"),
      FormatPercent(footprint.error, 2),
      FormatPercent(footprint.largest_error, 2));
  for (const FailedRun& run : footprint.failed) {
    text += fmt::format("failed: {}: {}\n", ShapeText(run.shape), run.message);
  }
  return text;
}

}  // namespace foretell::cli
