#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "foretell/error.h"
#include "foretell/parallel.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr int kMostGpus = 65536;
constexpr std::string_view kBucketView = "bucket-view";
constexpr std::string_view kBlocks = "blocks=";
constexpr std::string_view kVocabulary = "vocabulary";
constexpr std::string_view kSchedule = "schedule=";
constexpr std::string_view kMicroBatches = "microbatches=";
constexpr std::string_view kSplit = "split=";
constexpr std::string_view kGpipe = "gpipe";
constexpr std::string_view k1F1B = "1f1b";
constexpr std::string_view kInterleaved = "interleaved:";
constexpr int kMostMicroBatches = 1024;
constexpr int kMostStagesPerGpu = 64;

struct ParallelName {
  ParallelKind kind;
  std::string_view name;
};

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},     {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"}, {ParallelKind::kFsdp, "fsdp"},
    {ParallelKind::kFsdp1, "fsdp1"}, {ParallelKind::kTensor, "tp"},
    {ParallelKind::kPipeline, "pp"}};

std::string_view ParallelNameOf(ParallelKind kind) {
  const auto* const row =
      std::ranges::find(kParallelNames, kind, &ParallelName::kind);
  return row == std::end(kParallelNames) ? "" : row->name;
}

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
}

/// Reads a whole number of at most `most` into `number`.
bool ReadCount(std::string_view text, int least, int most, int& number) {
  const std::optional<int> read = ParseNumber<int>(text);
  if (!read || *read < least || *read > most) return false;
  number = *read;
  return true;
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

bool ReadPipelineOption(std::string_view word, ParallelSpec& spec) {
  if (word.starts_with(kSchedule)) {
    return ReadSchedule(word.substr(kSchedule.size()), spec);
  }
  if (word.starts_with(kMicroBatches)) {
    return ReadCount(word.substr(kMicroBatches.size()), 1, kMostMicroBatches,
                     spec.micro_batches);
  }
  if (!word.starts_with(kSplit)) return false;
  spec.split = word.substr(kSplit.size());
  return !spec.split.empty();
}

/// Whether `word` is an option of the spec's kind, which it then has.
bool ReadOption(std::string_view word, ParallelSpec& spec) {
  if (HasBuckets(spec.kind) && word == kBucketView) {
    spec.bucket_view = true;
    return true;
  }
  if (spec.kind == ParallelKind::kTensor && word == kVocabulary) {
    spec.vocabulary = true;
    return true;
  }
  if (spec.kind == ParallelKind::kPipeline) {
    return ReadPipelineOption(word, spec);
  }
  if (!ShardsParameters(spec) || !word.starts_with(kBlocks)) return false;
  spec.blocks = word.substr(kBlocks.size());
  return !spec.blocks.empty();
}

std::optional<ParallelSpec> ReadSpec(std::string_view text) {
  std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view head = text.substr(0, comma);
  const std::size_t colon = std::min(head.find(':'), head.size());
  const auto* const row = std::ranges::find(
      kParallelNames, head.substr(0, colon), &ParallelName::name);
  if (row == std::end(kParallelNames) || colon == head.size()) return {};
  const std::optional<int> gpus = ParseNumber<int>(head.substr(colon + 1));
  if (!gpus || *gpus < 2 || *gpus > kMostGpus) return {};
  ParallelSpec spec{.kind = row->kind, .gpus = *gpus};
  while (comma < text.size()) {
    const std::size_t next = std::min(text.find(',', comma + 1), text.size());
    if (!ReadOption(text.substr(comma + 1, next - comma - 1), spec)) return {};
    comma = next;
  }
  return spec;
}

/// Whether groups under `model` can share a step by `data`.
bool Combine(const ParallelSpec& model, const ParallelSpec& data) {
  if (data.kind == ParallelKind::kDdp) {
    return model.kind == ParallelKind::kTensor ||
           model.kind == ParallelKind::kPipeline;
  }
  return model.kind == ParallelKind::kTensor && !model.vocabulary &&
         ShardsParameters(data);
}

/// One plan, or one of a group and one of groups with a plus between them.
std::optional<ParallelSpec> ReadPlans(std::string_view text) {
  const std::size_t plus = text.find('+');
  std::optional<ParallelSpec> spec = ReadSpec(text.substr(0, plus));
  if (!spec || plus == std::string_view::npos) return spec;
  const std::optional<ParallelSpec> data = ReadSpec(text.substr(plus + 1));
  if (!data || !Combine(*spec, *data)) return {};
  spec->data = data->kind;
  spec->replicas = data->gpus;
  spec->bucket_view = data->bucket_view;
  spec->blocks = data->blocks;
  return spec;
}

std::string PipelineOptions(const ParallelSpec& spec) {
  std::string text;
  if (spec.schedule == PipelineSchedule::kGpipe) {
    text += fmt::format(",{}{}", kSchedule, kGpipe);
  }
  if (spec.schedule == PipelineSchedule::kInterleaved) {
    text +=
        fmt::format(",{}{}{}", kSchedule, kInterleaved, spec.stages_per_gpu);
  }
  if (spec.micro_batches > 0) {
    text += fmt::format(",{}{}", kMicroBatches, spec.micro_batches);
  }
  if (!spec.split.empty()) text += fmt::format(",{}{}", kSplit, spec.split);
  return text;
}

}  // namespace

ParallelSpec ModelPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return spec;
  ParallelSpec part = spec;
  part.data = ParallelKind::kOneGpu;
  part.replicas = 1;
  part.bucket_view = false;
  part.blocks.clear();
  return part;
}

ParallelSpec DataPart(const ParallelSpec& spec) {
  if (spec.data == ParallelKind::kOneGpu) return {};
  return {.kind = spec.data,
          .gpus = spec.replicas,
          .bucket_view = spec.bucket_view,
          .blocks = spec.blocks};
}

bool ShardsParameters(const ParallelSpec& spec) {
  const auto shards = [](ParallelKind kind) {
    return kind == ParallelKind::kZero2 || kind == ParallelKind::kFsdp ||
           kind == ParallelKind::kFsdp1;
  };
  return shards(spec.kind) || shards(spec.data);
}

int MicroBatchesOf(const ParallelSpec& spec) {
  if (spec.kind != ParallelKind::kPipeline) return 1;
  return spec.micro_batches > 0 ? spec.micro_batches : spec.gpus;
}

bool SharesInference(const ParallelSpec& spec) {
  return spec.kind == ParallelKind::kTensor &&
         spec.data == ParallelKind::kOneGpu;
}

std::string ToString(const ParallelSpec& spec) {
  if (spec.kind == ParallelKind::kOneGpu) return "";
  if (spec.data != ParallelKind::kOneGpu) {
    return fmt::format("{}+{}", ToString(ModelPart(spec)),
                       ToString(DataPart(spec)));
  }
  std::string text = fmt::format("{}:{}", ParallelNameOf(spec.kind), spec.gpus);
  if (spec.bucket_view) text += fmt::format(",{}", kBucketView);
  if (!spec.blocks.empty()) text += fmt::format(",{}{}", kBlocks, spec.blocks);
  if (spec.vocabulary) text += fmt::format(",{}", kVocabulary);
  return text + PipelineOptions(spec);
}

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  if (std::optional<ParallelSpec> spec = ReadPlans(text))
    return *std::move(spec);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} '{}': expected ddp:N, zero1:N, zero2:N, fsdp:N, "
                  "fsdp1:N, tp:N or pp:N with 2 to {} GPUs; optionally, ddp:N "
                  "and zero1:N with ',{}', zero2:N, fsdp:N and fsdp1:N with "
                  "',{}PATH', tp:N with ',{}', pp:N with ',{}{}|{}|{}2', "
                  "',{}8', ',{}PATH:PATH'; then, tp:N and pp:N with '+ddp:N', "
                  "tp:N with '+zero2:N', '+fsdp:N' or '+fsdp1:N'",
                  flag, text, kMostGpus, kBucketView, kBlocks, kVocabulary,
                  kSchedule, kGpipe, k1F1B, kInterleaved, kMicroBatches,
                  kSplit));
}

}  // namespace foretell
