#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "src/core/text.h"
#include "src/graph/parallel_plan.h"
#include "src/graph/parallel_table.h"

namespace foretell {
namespace {

/// Those whose hooks run outside of what is compiled, or break the graph.
constexpr ParallelKind kCompiledKinds[] = {
    ParallelKind::kDdp, ParallelKind::kZero1, ParallelKind::kZero2,
    ParallelKind::kFsdp};

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

}  // namespace

ParallelSpec Combine(ParallelSpec model, const ParallelSpec& data) {
  model.data = data.kind;
  model.copies = data.gpus;
  CopyDataOptions(data, model);
  if (IsPipeline(data.kind)) CopyStageOptions(data, model);
  return model;
}

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
  const int group = ShardsWithin(spec.kind) ? spec.gpus : 1;
  ParallelSpec part{.kind = spec.data, .gpus = spec.copies * group};
  part.batch_group = group;
  CopyDataOptions(spec, part);
  if (IsPipeline(spec.data)) CopyStageOptions(spec, part);
  return part;
}

bool ShardsParameters(const ParallelSpec& spec) {
  return HasBlocks(spec.kind) || HasBlocks(spec.data);
}

bool CanShareStep(Runtime runtime, const ParallelSpec& spec) {
  if (runtime == Runtime::kEager || spec == ParallelSpec{}) return true;
  return runtime == Runtime::kCompile && spec.data == ParallelKind::kOneGpu &&
         std::ranges::count(kCompiledKinds, spec.kind) > 0;
}

std::string CompiledPlans() {
  std::vector<std::string> names;
  for (const ParallelKind kind : kCompiledKinds) {
    names.emplace_back(NameOf({.kind = kind}));
  }
  return Joined(names);
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
  const ParallelName* row = FindPlan(plan.substr(0, plan.find(':')));
  return row == nullptr ? PlanTraits{} : row->traits;
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

}  // namespace foretell
