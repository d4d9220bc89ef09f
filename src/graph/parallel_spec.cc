#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "foretell/parallel.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"

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
};

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},           {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"},       {ParallelKind::kFsdp, "fsdp"},
    {ParallelKind::kFsdp1, "fsdp1"},       {ParallelKind::kFsdp, "hsdp", true},
    {ParallelKind::kFsdp1, "hsdp1", true}, {ParallelKind::kTensor, "tp"},
    {ParallelKind::kPipeline, "pp"},       {ParallelKind::kContext, "cp"},
    {ParallelKind::kExpert, "ep"}};

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
}

bool SharesFeatures(ParallelKind kind) { return kind == ParallelKind::kTensor; }

bool HasStages(ParallelKind kind) { return kind == ParallelKind::kPipeline; }

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
};

constexpr ParallelValue kParallelValues[] = {
    {"reduce=", &IsFsdp, &ReadReduce, &ReduceText},
    {"blocks=", &HasBlocks, &ReadPath<&ParallelSpec::blocks>,
     &PathText<&ParallelSpec::blocks>},
    {"schedule=", &HasStages, &ReadSchedule, &ScheduleText},
    {"microbatches=", &HasStages, &ReadMicroBatches, &MicroBatchesText},
    {"split=", &HasStages, &ReadPath<&ParallelSpec::split>,
     &PathText<&ParallelSpec::split>},
    {"imbalance=", &HasExperts, &ReadImbalance, &ImbalanceText}};

/// Whether `word` is an option of the spec's kind, which it then has.
bool ReadOption(std::string_view word, ParallelSpec& spec) {
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (word == row.name) return spec.*row.field = row.has(spec.kind);
  }
  for (const ParallelValue& row : kParallelValues) {
    if (!word.starts_with(row.name)) continue;
    return row.has(spec.kind) && row.read(word.substr(row.name.size()), spec);
  }
  return false;
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

std::optional<ParallelSpec> ReadSpec(std::string_view text, int least = 2) {
  if (text.ends_with(',')) return {};
  std::string_view head = CutWord(text, ',');
  const auto* const row = std::ranges::find(kParallelNames, CutWord(head, ':'),
                                            &ParallelName::name);
  if (row == std::end(kParallelNames)) return {};
  ParallelSpec spec{.kind = row->kind};
  if (!ReadGpus(head, row->has_replicas, least, spec)) return {};
  while (!text.empty()) {
    if (!ReadOption(CutWord(text, ','), spec)) return {};
  }
  return spec;
}

/// Whether groups under `model` can share a step by `data`.
bool Combine(const ParallelSpec& model, const ParallelSpec& data) {
  if (data.kind == ParallelKind::kDdp) {
    return model.kind == ParallelKind::kTensor || HasStages(model.kind) ||
           HasRings(model.kind);
  }
  const bool shares_parts =
      model.kind == ParallelKind::kTensor && !model.vocabulary;
  return HasBlocks(data.kind) && (shares_parts || HasRings(model.kind));
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

/// One plan, or one of a group and one of groups with a plus between them.
std::optional<ParallelSpec> ReadPlans(std::string_view text) {
  const std::size_t plus = text.find('+');
  std::optional<ParallelSpec> spec = ReadSpec(text.substr(0, plus));
  if (!spec || plus == std::string_view::npos) return spec;
  // GPUs that share sequences shard parameters among themselves, too.
  const int least = HasRings(spec->kind) ? 1 : 2;
  const std::optional<ParallelSpec> data =
      ReadSpec(text.substr(plus + 1), least);
  if (!data || !Combine(*spec, *data)) return {};
  spec->data = data->kind;
  spec->copies = data->gpus;
  CopyDataOptions(*data, *spec);
  return spec;
}

}  // namespace

ParallelSpec ModelPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return spec;
  ParallelSpec part = spec;
  part.data = ParallelKind::kOneGpu;
  part.copies = 1;
  CopyDataOptions({}, part);
  return part;
}

ParallelSpec DataPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return {};
  const int group = HasRings(spec.kind) ? spec.gpus : 1;
  ParallelSpec part{.kind = spec.data, .gpus = spec.copies * group};
  part.batch_group = group;
  CopyDataOptions(spec, part);
  return part;
}

bool ShardsParameters(const ParallelSpec& spec) {
  return HasBlocks(spec.kind) || HasBlocks(spec.data);
}

int MicroBatchesOf(const ParallelSpec& spec) {
  if (spec.kind != ParallelKind::kPipeline) return 1;
  return spec.micro_batches > 0 ? spec.micro_batches : spec.gpus;
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
  const bool has_replicas = spec.replicas > 1;
  std::string text;
  for (const ParallelName& row : kParallelNames) {
    if (row.kind == spec.kind && row.has_replicas == has_replicas) {
      text = fmt::format("{}:", row.name);
    }
  }
  if (has_replicas) text += fmt::format("{}x", spec.replicas);
  return text + fmt::format("{}", ShardGroup(spec) / spec.batch_group) +
         OptionsText(spec);
}

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  if (std::optional<ParallelSpec> spec = ReadPlans(text))
    return *std::move(spec);
  throw InvalidArgument(
      "{} '{}': expected ddp:N, zero1:N, zero2:N, fsdp:N, fsdp1:N, hsdp:MxN, "
      "hsdp1:MxN, tp:N, pp:N, cp:N or ep:N with 2 to {} GPUs; optionally, ddp "
      "and zero1 with ',bucket-view', tp with ',vocabulary' and ',sp', cp with "
      "',all-to-all' and ',unbalanced', ep with ',imbalance=PERCENT' from 100, "
      "zero2, fsdp, "
      "fsdp1, hsdp and hsdp1 with ',blocks=PATH' and ',no-sync', all of these "
      "but zero2 with ',fp32-shards', ',cpu-offload' and ',reduce=fp32', bf16 "
      "or fp16, fsdp1 and hsdp1 with ',reentrant' and ',orig-params', pp with "
      "',schedule={}|{}|{}2', ',microbatches=8' and ',split=PATH:PATH'; then, "
      "tp, pp and cp with '+ddp:N', tp and cp with '+' and a plan that has "
      "blocks",
      flag, text, kMostGpus, k1F1B, kGpipe, kInterleaved);
}

}  // namespace foretell
