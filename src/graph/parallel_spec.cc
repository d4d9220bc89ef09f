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

struct ParallelName {
  ParallelKind kind;
  std::string_view name;
};

constexpr ParallelName kParallelNames[] = {
    {ParallelKind::kDdp, "ddp"},     {ParallelKind::kZero1, "zero1"},
    {ParallelKind::kZero2, "zero2"}, {ParallelKind::kFsdp, "fsdp"},
    {ParallelKind::kFsdp1, "fsdp1"}, {ParallelKind::kTensor, "tp"}};

std::string_view ParallelNameOf(ParallelKind kind) {
  const auto* const row =
      std::ranges::find(kParallelNames, kind, &ParallelName::kind);
  return row == std::end(kParallelNames) ? "" : row->name;
}

bool HasBuckets(ParallelKind kind) {
  return kind == ParallelKind::kDdp || kind == ParallelKind::kZero1;
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
  if (!ShardsParameters(spec) || !word.starts_with(kBlocks)) return false;
  spec.blocks = word.substr(kBlocks.size());
  return !spec.blocks.empty();
}

std::optional<ParallelSpec> ReadSpec(std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view head = text.substr(0, comma);
  const std::size_t colon = std::min(head.find(':'), head.size());
  const auto* const row = std::ranges::find(
      kParallelNames, head.substr(0, colon), &ParallelName::name);
  if (row == std::end(kParallelNames) || colon == head.size()) return {};
  const std::optional<int> gpus = ParseNumber<int>(head.substr(colon + 1));
  if (!gpus || *gpus < 2 || *gpus > kMostGpus) return {};
  ParallelSpec spec{.kind = row->kind, .gpus = *gpus};
  if (comma == text.size()) return spec;
  if (!ReadOption(text.substr(comma + 1), spec)) return {};
  return spec;
}

}  // namespace

bool ShardsParameters(const ParallelSpec& spec) {
  return spec.kind == ParallelKind::kZero2 ||
         spec.kind == ParallelKind::kFsdp || spec.kind == ParallelKind::kFsdp1;
}

bool SharesInference(const ParallelSpec& spec) {
  return spec.kind == ParallelKind::kTensor;
}

std::string ToString(const ParallelSpec& spec) {
  if (spec.kind == ParallelKind::kOneGpu) return "";
  std::string text = fmt::format("{}:{}", ParallelNameOf(spec.kind), spec.gpus);
  if (spec.bucket_view) text += fmt::format(",{}", kBucketView);
  if (!spec.blocks.empty()) text += fmt::format(",{}{}", kBlocks, spec.blocks);
  if (spec.vocabulary) text += fmt::format(",{}", kVocabulary);
  return text;
}

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  if (std::optional<ParallelSpec> spec = ReadSpec(text))
    return *std::move(spec);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} '{}': expected ddp:N, zero1:N, zero2:N, fsdp:N, "
                  "fsdp1:N or tp:N with 2 to {} GPUs; optionally, ddp:N and "
                  "zero1:N with ',{}', zero2:N, fsdp:N and fsdp1:N with "
                  "',{}PATH', tp:N with ',{}'",
                  flag, text, kMostGpus, kBucketView, kBlocks, kVocabulary));
}

}  // namespace foretell
