#include "src/graph/parallel_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell {
namespace {

constexpr int kMostMicroBatches = 1024;
constexpr int kMostStagesPerGpu = 64;
constexpr int kMostImbalance = 100 * 1024;  ///< Percent.
constexpr std::string_view kGpipe = "gpipe";
constexpr std::string_view k1F1B = "1f1b";
constexpr std::string_view kInterleaved = "interleaved:";

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},
    {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"},
    {ParallelKind::kFsdp, "fsdp"},
    {ParallelKind::kFsdp, "zero3"},  // DeepSpeed's name of it.
    {ParallelKind::kFsdp1, "fsdp1"},
    {ParallelKind::kFsdp, "hsdp", true},
    {ParallelKind::kFsdp1, "hsdp1", true},
    {.kind = ParallelKind::kTensor,
     .name = "tp",
     .traits = {.shares_batch = true, .is_functional = true}},
    {.kind = ParallelKind::kPipeline,
     .name = "pp",
     .traits = {.shares_batch = true}},
    {.kind = ParallelKind::kContext,
     .name = "cp",
     .traits = {.shares_batch = true,
                .averages_gradients = true,
                .is_functional = true}},
    {.kind = ParallelKind::kExpert,
     .name = "ep",
     .traits = {.shares_batch = true,
                .has_own_batches = true,
                .averages_gradients = true,
                .is_functional = true}}};

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
}

bool IsFsdp1(ParallelKind kind) { return kind == ParallelKind::kFsdp1; }

/// A word that sets a field of the plans that have it.
struct ParallelSwitch {
  std::string_view name;
  bool (*has)(ParallelKind kind);
  bool ParallelSpec::*field;
};

constexpr ParallelSwitch kParallelSwitches[] = {
    {"bucket-view", &HasBuckets, &ParallelSpec::bucket_view},
    {"vocabulary", &SharesFeatures, &ParallelSpec::vocabulary},
    {"sp", &SharesFeatures, &ParallelSpec::sequence},
    {"all-to-all", &HasRings, &ParallelSpec::all_to_all},
    {"unbalanced", &HasRings, &ParallelSpec::unbalanced},
    {"fp32-shards", &IsFsdp, &ParallelSpec::float_shards},
    {"cpu-offload", &IsFsdp, &ParallelSpec::cpu_offload},
    {"reentrant", &IsFsdp1, &ParallelSpec::reentrant},
    {"orig-params", &IsFsdp1, &ParallelSpec::orig_params},
    {"no-sync", &HasBlocks, &ParallelSpec::no_sync}};

bool ReadReduce(std::string_view text, ParallelSpec& spec) {
  spec.reduce = ParsePrecision(text);
  return spec.reduce && spec.reduce != Precision::kTf32;
}

std::string ReduceText(const ParallelSpec& spec) {
  return spec.reduce ? std::string(PrecisionName(*spec.reduce)) : "";
}

bool ReadSchedule(std::string_view text, ParallelSpec& spec) {
  if (text == k1F1B) return true;
  if (text == kGpipe) {
    spec.schedule = PipelineSchedule::kGpipe;
    return true;
  }
  spec.schedule = PipelineSchedule::kInterleaved;
  return text.starts_with(kInterleaved) &&
         ReadCount(text.substr(kInterleaved.size()), 2, kMostStagesPerGpu,
                   spec.stages_per_gpu);
}

std::string ScheduleText(const ParallelSpec& spec) {
  switch (spec.schedule) {
    case PipelineSchedule::k1F1B:
      return "";
    case PipelineSchedule::kGpipe:
      return std::string(kGpipe);
    case PipelineSchedule::kInterleaved:
      return fmt::format("{}{}", kInterleaved, spec.stages_per_gpu);
  }
  return "";
}

bool ReadMicroBatches(std::string_view text, ParallelSpec& spec) {
  return ReadCount(text, 1, kMostMicroBatches, spec.micro_batches);
}

std::string MicroBatchesText(const ParallelSpec& spec) {
  return spec.micro_batches > 0 ? fmt::format("{}", spec.micro_batches) : "";
}

bool ReadImbalance(std::string_view text, ParallelSpec& spec) {
  return ReadCount(text, 100, kMostImbalance, spec.imbalance);
}

std::string ImbalanceText(const ParallelSpec& spec) {
  return spec.imbalance > 100 ? fmt::format("{}", spec.imbalance) : "";
}

template <std::string ParallelSpec::*field>
bool ReadPath(std::string_view text, ParallelSpec& spec) {
  spec.*field = text;
  return !text.empty();
}

template <std::string ParallelSpec::*field>
std::string PathText(const ParallelSpec& spec) {
  return spec.*field;
}

/// "name=" and a value, of the plans that have it.
struct ParallelValue {
  std::string_view name;
  bool (*has)(ParallelKind kind);
  bool (*read)(std::string_view text, ParallelSpec& spec);
  std::string (*text)(const ParallelSpec& spec);  ///< Empty by default.
  std::string_view values;  ///< For messages; {} is `most`.
  int most = 0;
};

constexpr ParallelValue kParallelValues[] = {
    {"reduce=", &IsFsdp, &ReadReduce, &ReduceText, "fp32, bf16 or fp16"},
    {"blocks=", &HasBlocks, &ReadPath<&ParallelSpec::blocks>,
     &PathText<&ParallelSpec::blocks>, "a path of modules"},
    {"schedule=", &IsPipeline, &ReadSchedule, &ScheduleText,
     "1f1b, gpipe or interleaved:N with 2 to {} stages on each GPU",
     kMostStagesPerGpu},
    {"microbatches=", &IsPipeline, &ReadMicroBatches, &MicroBatchesText,
     "1 to {}", kMostMicroBatches},
    {"split=", &IsPipeline, &ReadPath<&ParallelSpec::split>,
     &PathText<&ParallelSpec::split>, "paths of modules with ':' between"},
    {"imbalance=", &HasExperts, &ReadImbalance, &ImbalanceText,
     "100 to {} percent", kMostImbalance}};

/// "vocabulary, sp" of kTensor.
std::string OptionsOf(ParallelKind kind) {
  std::vector<std::string> names;
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (row.has(kind)) names.emplace_back(row.name);
  }
  for (const ParallelValue& row : kParallelValues) {
    if (row.has(kind)) names.push_back(fmt::format("{}...", row.name));
  }
  return Joined(names);
}

}  // namespace

const ParallelName* FindPlan(std::string_view name) {
  const auto* const row =
      std::ranges::find(kParallelNames, name, &ParallelName::name);
  return row == std::end(kParallelNames) ? nullptr : row;
}

std::string PlanNames() {
  std::vector<std::string> names;
  for (const ParallelName& row : kParallelNames) names.emplace_back(row.name);
  return Joined(names);
}

std::string_view NameOf(const ParallelSpec& spec) {
  const bool has_replicas = spec.replicas > 1;
  for (const ParallelName& row : kParallelNames) {
    if (row.kind == spec.kind && row.has_replicas == has_replicas) {
      return row.name;
    }
  }
  return "";
}

bool ReadCount(std::string_view text, int least, int most, int& number) {
  const std::optional<int> read = ParseNumber<int>(text);
  if (!read || *read < least || *read > most) return false;
  number = *read;
  return true;
}

void ReadOption(const std::string& where, std::string_view word,
                std::string_view plan, ParallelSpec& spec) {
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (word == row.name && row.has(spec.kind)) {
      spec.*row.field = true;
      return;
    }
  }
  for (const ParallelValue& row : kParallelValues) {
    if (!word.starts_with(row.name) || !row.has(spec.kind)) continue;
    const std::string_view value = word.substr(row.name.size());
    if (row.read(value, spec)) return;
    throw InvalidArgument("{}: expected {}{}, got '{}'", where, row.name,
                          fmt::format(fmt::runtime(row.values), row.most),
                          value);
  }
  throw InvalidArgument("{}: expected an option of {} ({}), got '{}'", where,
                        plan, OptionsOf(spec.kind), word);
}

std::string OptionsText(const ParallelSpec& spec) {
  std::string text;
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (spec.*row.field) text += fmt::format(",{}", row.name);
  }
  for (const ParallelValue& row : kParallelValues) {
    const std::string value = row.text(spec);
    if (!value.empty()) text += fmt::format(",{}{}", row.name, value);
  }
  return text;
}

}  // namespace foretell
