#pragma once

#include <string>
#include <string_view>

#include "foretell/parallel.h"
#include "src/graph/parallel_plan.h"

/// Names and options of plans, which reading and writing them share.
namespace foretell {

constexpr bool SharesFeatures(ParallelKind kind) {
  return kind == ParallelKind::kTensor;
}

constexpr bool IsPipeline(ParallelKind kind) {
  return kind == ParallelKind::kPipeline;
}

constexpr bool HasRings(ParallelKind kind) {
  return kind == ParallelKind::kContext;
}

constexpr bool HasExperts(ParallelKind kind) {
  return kind == ParallelKind::kExpert;
}

/// GPUs of a group shard parameters among themselves, too.
constexpr bool ShardsWithin(ParallelKind kind) {
  return HasRings(kind) || HasExperts(kind);
}

constexpr bool IsFsdp(ParallelKind kind) {
  return kind == ParallelKind::kFsdp || kind == ParallelKind::kFsdp1;
}

constexpr bool HasBlocks(ParallelKind kind) {
  return kind == ParallelKind::kZero2 || IsFsdp(kind);
}

struct ParallelName {
  ParallelKind kind;
  std::string_view name;
  bool has_replicas = false;  ///< "2x4" GPUs.
  PlanTraits traits = {};
};

/// The row of `name` ("hsdp"), or null.
const ParallelName* FindPlan(std::string_view name);
/// "ddp, zero1, …": all of them.
std::string PlanNames();
/// The name of a plan that is not combined; empty for kOneGpu.
std::string_view NameOf(const ParallelSpec& spec);

/// Reads a whole number from `least` to `most` into `number`.
bool ReadCount(std::string_view text, int least, int most, int& number);

/// Reads `word` ("blocks=h.*") into `spec`, a plan called `plan`. Throws
/// Error(kInvalidArgument) that begins with `where` for a word that is no
/// option of its kind, and for a wrong value.
void ReadOption(const std::string& where, std::string_view word,
                std::string_view plan, ParallelSpec& spec);
/// ",vocabulary,sp": the options of a plan that differ from the default.
std::string OptionsText(const ParallelSpec& spec);

}  // namespace foretell
