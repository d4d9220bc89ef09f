#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "foretell/error.h"
#include "foretell/parallel.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr int kMostGpus = 65536;
constexpr std::string_view kBlocks = "blocks=";
constexpr std::string_view kReduce = "reduce=";

struct ParallelName {
  ParallelKind kind;
  std::string_view name;
  bool has_replicas = false;  ///< "2x4" GPUs.
};

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},           {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"},       {ParallelKind::kFsdp, "fsdp"},
    {ParallelKind::kFsdp1, "fsdp1"},       {ParallelKind::kFsdp, "hsdp", true},
    {ParallelKind::kFsdp1, "hsdp1", true}, {ParallelKind::kTensor, "tp"}};

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
}

bool HasVocabulary(ParallelKind kind) { return kind == ParallelKind::kTensor; }

bool IsFsdp(ParallelKind kind) {
  return kind == ParallelKind::kFsdp || kind == ParallelKind::kFsdp1;
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
    {"vocabulary", &HasVocabulary, &ParallelSpec::vocabulary},
    {"fp32-shards", &IsFsdp, &ParallelSpec::float_shards},
    {"reentrant", &IsFsdp1, &ParallelSpec::reentrant},
    {"orig-params", &IsFsdp1, &ParallelSpec::orig_params}};

/// Whether `word` is an option of the spec's kind, which it then has.
bool ReadOption(std::string_view word, ParallelSpec& spec) {
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (word == row.name) return spec.*row.field = row.has(spec.kind);
  }
  if (word.starts_with(kReduce) && IsFsdp(spec.kind)) {
    spec.reduce = ParsePrecision(word.substr(kReduce.size()));
    return spec.reduce && spec.reduce != Precision::kTf32;
  }
  if (!ShardsParameters(spec) || !word.starts_with(kBlocks)) return false;
  spec.blocks = word.substr(kBlocks.size());
  return !spec.blocks.empty();
}

/// `text` up to `separator`, which is cut off it with that; all of it without
/// one.
std::string_view CutWord(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// "8", or of replicas "2x4".
bool ReadGpus(std::string_view text, bool has_replicas, ParallelSpec& spec) {
  const auto read = [](std::string_view number) {
    const std::optional<int> gpus = ParseNumber<int>(number);
    return gpus && *gpus >= 2 && *gpus <= kMostGpus ? *gpus : 0;
  };
  if (has_replicas) {
    spec.replicas = read(CutWord(text, 'x'));
    if (spec.replicas > kMostGpus / 2) return false;
  }
  const std::int64_t gpus = std::int64_t{spec.replicas} * read(text);
  spec.gpus = static_cast<int>(std::min<std::int64_t>(gpus, kMostGpus + 1));
  return spec.gpus >= 2 && spec.gpus <= kMostGpus;
}

std::optional<ParallelSpec> ReadSpec(std::string_view text) {
  if (text.ends_with(',')) return {};
  std::string_view head = CutWord(text, ',');
  const auto* const row = std::ranges::find(kParallelNames, CutWord(head, ':'),
                                            &ParallelName::name);
  if (row == std::end(kParallelNames)) return {};
  ParallelSpec spec{.kind = row->kind};
  if (!ReadGpus(head, row->has_replicas, spec)) return {};
  while (!text.empty()) {
    if (!ReadOption(CutWord(text, ','), spec)) return {};
  }
  return spec;
}

}  // namespace

bool ShardsParameters(const ParallelSpec& spec) {
  return spec.kind == ParallelKind::kZero2 || IsFsdp(spec.kind);
}

bool SharesInference(const ParallelSpec& spec) {
  return spec.kind == ParallelKind::kTensor;
}

int ShardGroup(const ParallelSpec& spec) { return spec.gpus / spec.replicas; }

std::string ToString(const ParallelSpec& spec) {
  if (spec.kind == ParallelKind::kOneGpu) return "";
  const bool has_replicas = spec.replicas > 1;
  std::string text;
  for (const ParallelName& row : kParallelNames) {
    if (row.kind == spec.kind && row.has_replicas == has_replicas) {
      text = fmt::format("{}:", row.name);
    }
  }
  if (has_replicas) text += fmt::format("{}x", spec.replicas);
  text += fmt::format("{}", ShardGroup(spec));
  for (const ParallelSwitch& row : kParallelSwitches) {
    if (spec.*row.field) text += fmt::format(",{}", row.name);
  }
  if (spec.reduce) {
    text += fmt::format(",{}{}", kReduce, PrecisionName(*spec.reduce));
  }
  if (!spec.blocks.empty()) text += fmt::format(",{}{}", kBlocks, spec.blocks);
  return text;
}

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  if (std::optional<ParallelSpec> spec = ReadSpec(text))
    return *std::move(spec);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} '{}': expected ddp:N, zero1:N, zero2:N, fsdp:N, "
                  "fsdp1:N, hsdp:MxN, hsdp1:MxN or tp:N with 2 to {} GPUs; "
                  "optionally, ddp and zero1 with ',bucket-view', tp with "
                  "',vocabulary', zero2 and the others with ',{}PATH', all of "
                  "these but zero2 with ',fp32-shards' and ',{}fp32', bf16 or "
                  "fp16, fsdp1 and hsdp1 with ',reentrant' and ',orig-params'",
                  flag, text, kMostGpus, kBlocks, kReduce));
}

}  // namespace foretell
