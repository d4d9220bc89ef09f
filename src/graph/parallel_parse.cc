#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foretell/parallel.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/graph/parallel_plan.h"
#include "src/graph/parallel_table.h"

namespace foretell {
namespace {

constexpr int kLeastGpus = 2;
constexpr int kMostGpus = 65536;

/// Plans of groups, and those by which groups may share a step.
struct Combination {
  ParallelKind model;
  std::string_view data;  ///< Names, separated by commas.
};

constexpr Combination kCombinations[] = {
    {ParallelKind::kTensor, "ddp, zero2, fsdp, fsdp1, hsdp, hsdp1, pp"},
    {ParallelKind::kPipeline, "ddp, zero2, fsdp, hsdp, tp"},
    {ParallelKind::kContext, "ddp, zero2, fsdp, fsdp1, hsdp, hsdp1"},
    {ParallelKind::kExpert, "zero2, fsdp, hsdp"}};

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

/// A plan that is not combined, of at least `least` GPUs in a group. `where`
/// begins messages. Throws Error(kInvalidArgument).
ParallelSpec ReadPlan(const std::string& where, std::string_view text,
                      int least) {
  const bool ends_early = text.ends_with(',');
  std::string_view head = CutWord(text, ',');
  const std::string plan(head);
  const std::string_view name = CutWord(head, ':');
  const ParallelName* row = FindPlan(name);
  if (row == nullptr) {
    throw InvalidArgument("{}: expected a plan of {}, got '{}'", where,
                          PlanNames(), name);
  }
  ParallelSpec spec{.kind = row->kind};
  if (!ReadGpus(head, row->has_replicas, least, spec)) {
    throw InvalidArgument(
        "{}: expected a number of GPUs as in {}:{}, {} to {}, got '{}'", where,
        name, row->has_replicas ? "2x4" : "8", least, kMostGpus, plan);
  }
  while (!text.empty()) ReadOption(where, CutWord(text, ','), name, spec);
  if (ends_early) ReadOption(where, "", name, spec);
  return spec;
}

/// "tp, pp, cp, ep".
std::string GroupNames() {
  std::vector<std::string> names;
  for (const Combination& row : kCombinations) {
    names.emplace_back(NameOf({.kind = row.model}));
  }
  return Joined(names);
}

/// Throws unless groups under `model` can share a step by `data`.
void RequireCombine(const std::string& where, const ParallelSpec& model,
                    const ParallelSpec& data) {
  const auto* const row =
      std::ranges::find(kCombinations, model.kind, &Combination::model);
  if (row == std::end(kCombinations)) {
    throw InvalidArgument(
        "{}: expected one of {} before '+', whose groups share a step by the "
        "plan after it, got {}",
        where, GroupNames(), NameOf(model));
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

/// One plan, or one of a group and one of groups with a plus between them.
ParallelSpec ReadPlans(const std::string& where, std::string_view text) {
  const std::size_t plus = text.find('+');
  ParallelSpec spec = ReadPlan(where, text.substr(0, plus), kLeastGpus);
  if (plus == std::string_view::npos) return spec;
  const std::string_view rest = text.substr(plus + 1);
  if (rest.find('+') != std::string_view::npos) {
    throw InvalidArgument("{}: expected at most two plans", where);
  }
  ParallelSpec data =
      ReadPlan(where, rest, ShardsWithin(spec.kind) ? 1 : kLeastGpus);
  // Stages of groups that share layers, in either order.
  if (IsPipeline(spec.kind) && SharesFeatures(data.kind)) std::swap(spec, data);
  RequireCombine(where, spec, data);
  return Combine(std::move(spec), data);
}

}  // namespace

ParallelSpec ParseParallel(std::string_view flag, std::string_view text) {
  return ReadPlans(fmt::format("{} '{}'", flag, text), text);
}

}  // namespace foretell
