#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/parallel.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"
#include "src/graph/parallel_plan.h"

namespace foretell {
namespace {

constexpr int kMostGpus = 65536;
constexpr int kMostMicroBatches = 1024;
constexpr int kMostStagesPerGpu = 64;
constexpr int kMostImbalance = 100 * 1024;  ///< Percent.
constexpr std::string_view kGpipe = "gpipe";
constexpr std::string_view k1F1B = "1f1b";
constexpr std::string_view kInterleaved = "interleaved:";

struct ParallelName {
  ParallelKind kind;
  std::string_view name;
  bool has_replicas = false;  ///< "2x4" GPUs.
  PlanTraits traits = {};
};

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},
    {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"},
    {ParallelKind::kFsdp, "fsdp"},
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
                .averages_gradients = true,
                .is_functional = true}}};

/// Plans of groups, and those by which groups may share a step.
struct Combination {
  ParallelKind model;
  std::string_view data;  ///< Names, separated by commas.
};

constexpr Combination kCombinations[] = {
    {ParallelKind::kTensor, "ddp, zero2, fsdp, fsdp1, hsdp, hsdp1, pp"},
    {ParallelKind::kPipeline, "ddp, zero2, fsdp, hsdp, tp"},
    {ParallelKind::kContext, "ddp, zero2, fsdp, fsdp1, hsdp, hsdp1"}};

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
}

bool SharesFeatures(ParallelKind kind) { return kind == ParallelKind::kTensor; }

bool IsPipeline(ParallelKind kind) { return kind == ParallelKind::kPipeline; }

bool HasRings(ParallelKind kind) { return kind == ParallelKind::kContext; }

bool HasExperts(ParallelKind kind) { return kind == ParallelKind::kExpert; }

bool IsFsdp(ParallelKind kind) {
  return kind == ParallelKind::kFsdp || kind == ParallelKind::kFsdp1;
}

bool IsFsdp1(ParallelKind kind) { return kind == ParallelKind::kFsdp1; }

bool HasBlocks(ParallelKind kind) {
  return kind == ParallelKind::kZero2 || IsFsdp(kind);
}

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

/// Reads a whole number from `least` to `most` into `number`.
bool ReadCount(std::string_view text, int least, int most, int& number) {
  const std::optional<int> read = ParseNumber<int>(text);
  if (!read || *read < least || *read > most) return false;
  number = *read;
  return true;
}

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
  std::string_view values;                        ///< For messages.
};

constexpr ParallelValue kParallelValues[] = {
    {"reduce=", &IsFsdp, &ReadReduce, &ReduceText, "fp32, bf16 or fp16"},
    {"blocks=", &HasBlocks, &ReadPath<&ParallelSpec::blocks>,
     &PathText<&ParallelSpec::blocks>, "a path of modules"},
    {"schedule=", &IsPipeline, &ReadSchedule, &ScheduleText,
     "1f1b, gpipe or interleaved:N with 2 to 64 stages on each GPU"},
    {"microbatches=", &IsPipeline, &ReadMicroBatches, &MicroBatchesText,
     "1 to 1024"},
    {"split=", &IsPipeline, &ReadPath<&ParallelSpec::split>,
     &PathText<&ParallelSpec::split>, "paths of modules with ':' between"},
    {"imbalance=", &HasExperts, &ReadImbalance, &ImbalanceText,
     "at least 100 percent"}};

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

/// `text` up to `separator`, which is cut off it with that; all of it without
/// one.
std::string_view CutWord(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// "8", or of replicas "2x4"; at least `least` in a group.
bool ReadGpus(std::string_view text, bool has_replicas, int least,
              ParallelSpec& spec) {
  if (has_replicas &&
      !ReadCount(CutWord(text, 'x'), 2, kMostGpus / 2, spec.replicas)) {
    return false;
  }
  int group = 0;
  if (!ReadCount(text, least, kMostGpus / spec.replicas, group)) return false;
  spec.gpus = spec.replicas * group;
  return true;
}

std::string PlanNames() {
  std::vector<std::string> names;
  for (const ParallelName& row : kParallelNames) names.emplace_back(row.name);
  return Joined(names);
}

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

/// A plan that is not combined. Throws Error(kInvalidArgument).
class PlanReader {
 public:
  /// `where` begins messages.
  explicit PlanReader(std::string where) : where_(std::move(where)) {}

  /// At least `least` GPUs in a group.
  ParallelSpec Read(std::string_view text, int least = 2) {
    const bool ends_early = text.ends_with(',');
    std::string_view head = CutWord(text, ',');
    const std::string plan(head);
    const std::string_view name = CutWord(head, ':');
    const auto* const row =
        std::ranges::find(kParallelNames, name, &ParallelName::name);
    if (row == std::end(kParallelNames)) {
      throw InvalidArgument("{}: expected a plan of {}, got '{}'", where_,
                            PlanNames(), name);
    }
    ParallelSpec spec{.kind = row->kind};
    if (!ReadGpus(head, row->has_replicas, least, spec)) {
      throw InvalidArgument(
          "{}: expected a number of GPUs as in {}:{}, {} to {}, got '{}'",
          where_, name, row->has_replicas ? "2x4" : "8", least, kMostGpus,
          plan);
    }
    while (!text.empty()) ReadOption(CutWord(text, ','), name, spec);
    if (ends_early) ReadOption("", name, spec);
    return spec;
  }

 private:
  void ReadOption(std::string_view word, std::string_view plan,
                  ParallelSpec& spec) const {
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
      throw InvalidArgument("{}: expected {}{}, got '{}'", where_, row.name,
                            row.values, value);
    }
    throw InvalidArgument("{}: expected an option of {} ({}), got '{}'", where_,
                          plan, OptionsOf(spec.kind), word);
  }

  std::string where_;
};

std::string_view NameOf(const ParallelSpec& spec) {
  const bool has_replicas = spec.replicas > 1;
  for (const ParallelName& row : kParallelNames) {
    if (row.kind == spec.kind && row.has_replicas == has_replicas) {
      return row.name;
    }
  }
  return "";
}

/// Throws unless groups under `model` can share a step by `data`.
void RequireCombine(const std::string& where, const ParallelSpec& model,
                    const ParallelSpec& data) {
  const auto* const row =
      std::ranges::find(kCombinations, model.kind, &Combination::model);
  if (row == std::end(kCombinations)) {
    throw InvalidArgument(
        "{}: expected tp, pp or cp before '+', whose groups share a step by "
        "the plan after it, got {}",
        where, NameOf(model));
  }
  const std::string listed = fmt::format(" {},", row->data);
  if (listed.find(fmt::format(" {},", NameOf(data))) == std::string::npos) {
    throw InvalidArgument("{}: expected one of {} after {}, got {}", where,
                          row->data, NameOf(model), NameOf(data));
  }
  if (model.vocabulary && data.kind != ParallelKind::kDdp) {
    throw InvalidArgument("{}: expected ddp with a shared vocabulary, got {}",
                          where, NameOf(data));
  }
  if (model.stages_per_gpu > 1 && HasBlocks(data.kind)) {
    throw InvalidArgument(
        "{}: expected one stage on each GPU with sharded parameters, got "
        "schedule=interleaved:{}",
        where, model.stages_per_gpu);
  }
  if (IsPipeline(model.kind) && (data.reduce || data.float_shards)) {
    throw InvalidArgument(
        "{}: expected neither fp32-shards nor reduce with a pipeline", where);
  }
  if (IsPipeline(model.kind) && data.no_sync) {
    throw InvalidArgument(
        "{}: expected no no-sync with a pipeline, which exchanges gradients "
        "with the last micro-batch anyway",
        where);
  }
}

/// The options of plans by which groups share a step.
void CopyDataOptions(const ParallelSpec& from, ParallelSpec& to) {
  to.replicas = from.replicas;
  to.bucket_view = from.bucket_view;
  to.blocks = from.blocks;
  to.float_shards = from.float_shards;
  to.reduce = from.reduce;
  to.reentrant = from.reentrant;
  to.orig_params = from.orig_params;
  to.cpu_offload = from.cpu_offload;
  to.no_sync = from.no_sync;
}

void CopyStageOptions(const ParallelSpec& from, ParallelSpec& to) {
  to.schedule = from.schedule;
  to.stages_per_gpu = from.stages_per_gpu;
  to.micro_batches = from.micro_batches;
  to.split = from.split;
}

/// One plan, or one of a group and one of groups with a plus between them.
ParallelSpec ReadPlans(const std::string& where, std::string_view text) {
  const std::size_t plus = text.find('+');
  PlanReader reader(where);
  ParallelSpec spec = reader.Read(text.substr(0, plus));
  if (plus == std::string_view::npos) return spec;
  const std::string_view rest = text.substr(plus + 1);
  if (rest.find('+') != std::string_view::npos) {
    throw InvalidArgument("{}: expected at most two plans", where);
  }
  // GPUs that share sequences shard parameters among themselves, too.
  ParallelSpec data = reader.Read(rest, HasRings(spec.kind) ? 1 : 2);
  // Stages of groups that share layers, in either order.
  if (IsPipeline(spec.kind) && SharesFeatures(data.kind)) std::swap(spec, data);
  RequireCombine(where, spec, data);
  spec.data = data.kind;
  spec.copies = data.gpus;
  CopyDataOptions(data, spec);
  if (IsPipeline(data.kind)) CopyStageOptions(data, spec);
  return spec;
}

}  // namespace

ParallelSpec ModelPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return spec;
  ParallelSpec part = spec;
  part.data = ParallelKind::kOneGpu;
  part.copies = 1;
  CopyDataOptions({}, part);
  if (IsPipeline(spec.data)) CopyStageOptions({}, part);
  return part;
}

ParallelSpec DataPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return {};
  const int group = HasRings(spec.kind) ? spec.gpus : 1;
  ParallelSpec part{.kind = spec.data, .gpus = spec.copies * group};
  part.batch_group = group;
  CopyDataOptions(spec, part);
  if (IsPipeline(spec.data)) CopyStageOptions(spec, part);
  return part;
}

bool ShardsParameters(const ParallelSpec& spec) {
  return HasBlocks(spec.kind) || HasBlocks(spec.data);
}

bool HasStages(const ParallelSpec& spec) {
  return IsPipeline(spec.kind) || IsPipeline(spec.data);
}

int MicroBatchesOf(const ParallelSpec& spec) {
  if (!HasStages(spec)) return 1;
  if (spec.micro_batches > 0) return spec.micro_batches;
  return IsPipeline(spec.kind) ? spec.gpus : spec.copies;
}

PlanTraits TraitsOf(std::string_view plan) {
  const auto* const row = std::ranges::find(
      kParallelNames, plan.substr(0, plan.find(':')), &ParallelName::name);
  return row == std::end(kParallelNames) ? PlanTraits{} : row->traits;
}

bool SharesSequences(const ParallelSpec& spec) { return HasRings(spec.kind); }

bool SharesInference(const ParallelSpec& spec) {
  return (spec.kind == ParallelKind::kTensor || HasRings(spec.kind) ||
          HasExperts(spec.kind)) &&
         spec.data == ParallelKind::kOneGpu;
}

int ShardGroup(const ParallelSpec& spec) { return spec.gpus / spec.replicas; }

std::string ToString(const ParallelSpec& spec) {
  if (spec.kind == ParallelKind::kOneGpu) return "";
  if (spec.data != ParallelKind::kOneGpu) {
    return fmt::format("{}+{}", ToString(ModelPart(spec)),
                       ToString(DataPart(spec)));
  }
  std::string text = fmt::format("{}:", NameOf(spec));
  if (spec.replicas > 1) text += fmt::format("{}x", spec.replicas);
  return text + fmt::format("{}", ShardGroup(spec) / spec.batch_group) +
         OptionsText(spec);
}

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  return ReadPlans(fmt::format("{} '{}'", flag, text), text);
}

}  // namespace foretell
