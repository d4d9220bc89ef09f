#include "src/parallel/pipeline_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/graph/block_paths.h"
#include "src/parallel/pipeline_schedule.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

/// Levels of numbered modules that are tried until there are enough blocks.
constexpr int kBlockLevels = 3;
/// What precedes the first module of a split.
constexpr std::string_view kStart = "start";

/// Blocks in the order of the forward pass.
struct BlockList {
  std::vector<std::string> paths;
  std::vector<std::int64_t> costs;  ///< Operators outside blocks included.
  std::vector<int> block_of;        ///< By node; kNone: outside all passes.
};

class BlockSearch {
 public:
  /// `first`: names of blocks that are there without a path.
  BlockSearch(const OperatorGraph& graph, const StepFacts& facts,
              const BlockOf& block_of, std::vector<std::string> first = {})
      : graph_(graph), facts_(facts), path_of_(block_of) {
    found_.paths = std::move(first);
  }

  BlockList Run() {
    bool is_first = true;
    int block = 0;
    Phase phase = Phase::kForward;
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kForward && phase != Phase::kForward) {
        is_first = false;
        block = 0;
      }
      phase = node.phase;
      found_.block_of.push_back(BlockAt(node, is_first, block));
      if (is_first && phase == Phase::kForward) AddCost(node, block);
    }
    found_.costs.resize(std::max<std::size_t>(found_.paths.size(), 1));
    return std::move(found_);
  }

 private:
  /// The block's index; `block` is that of the operator before, and becomes
  /// that of the node. New blocks are found in the first forward pass.
  int BlockAt(const Node& node, bool is_first, int& block) {
    if (node.phase == Phase::kOptimizer) return kNone;
    const std::string path = PathOf(node);
    if (node.phase == Phase::kBackward) {
      const auto known = index_of_.find(path);
      return path.empty() || known == index_of_.end() ? kNone : known->second;
    }
    if (path.empty()) return block;
    if (is_first && !index_of_.contains(path)) {
      index_of_[path] = static_cast<int>(found_.paths.size());
      found_.paths.push_back(path);
    }
    const auto known = index_of_.find(path);
    if (known != index_of_.end()) block = known->second;
    return block;
  }

  /// Of the module, or of the first parameter that the node reads.
  std::string PathOf(const Node& node) const {
    std::string path = path_of_(node.scope);
    if (!path.empty() || node.phase != Phase::kForward) return path;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph_.value(input).storage;
      const ParameterIndex index = facts_.OwnerOf(storage);
      if (index == kNone) continue;
      const Parameter& parameter = facts_.parameters[IndexOf(index)];
      if (parameter.storage != storage) continue;
      return path_of_(graph_.value(parameter.value).name);
    }
    return "";
  }

  void AddCost(const Node& node, int block) {
    found_.costs.resize(std::max(found_.paths.size(), IndexOf(block) + 1));
    found_.costs[IndexOf(block)] += node.macs + 1;
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const BlockOf& path_of_;
  std::map<std::string, int> index_of_;
  BlockList found_;
};

/// The stage of each of a row of blocks: consecutive blocks, the largest sum of
/// a stage as small as possible, then the sums' squares.
class BalancedCut {
 public:
  BalancedCut(const std::vector<std::int64_t>& costs, int stages)
      : stages_(stages), ends_(1, 0) {
    for (const std::int64_t cost : costs) {
      ends_.push_back(ends_.back() + static_cast<double>(cost));
    }
  }

  std::vector<int> Stages() {
    const std::size_t count = ends_.size() - 1;
    best_.assign(IndexOf(stages_) + 1, std::vector<Cut>(count + 1));
    best_[0][0] = {.most = 0, .squares = 0};
    for (std::size_t stage = 1; stage < best_.size(); ++stage) {
      for (std::size_t end = stage; end <= count; ++end) Choose(stage, end);
    }
    std::vector<int> stage_of(count);
    std::size_t end = count;
    for (int stage = stages_; stage > 0; --stage) {
      const std::size_t begin = best_[IndexOf(stage)][end].begin;
      std::fill(stage_of.begin() + static_cast<std::ptrdiff_t>(begin),
                stage_of.begin() + static_cast<std::ptrdiff_t>(end), stage - 1);
      end = begin;
    }
    return stage_of;
  }

 private:
  struct Cut {
    double most = std::numeric_limits<double>::infinity();
    double squares = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;  ///< Of the last stage.
  };

  void Choose(std::size_t stage, std::size_t end) {
    Cut& best = best_[stage][end];
    for (std::size_t begin = stage - 1; begin < end; ++begin) {
      const Cut& before = best_[stage - 1][begin];
      const double cost = ends_[end] - ends_[begin];
      const Cut cut = {.most = std::max(before.most, cost),
                       .squares = before.squares + cost * cost,
                       .begin = begin};
      if (std::pair(cut.most, cut.squares) <
          std::pair(best.most, best.squares)) {
        best = cut;
      }
    }
  }

  int stages_;
  std::vector<double> ends_;            ///< Sums of costs.
  std::vector<std::vector<Cut>> best_;  ///< By stages and end.
};

BlockList FindBlocks(const OperatorGraph& graph, const StepFacts& facts,
                     const ParallelSpec& spec) {
  std::size_t most = 0;
  for (int level = 0; level < kBlockLevels; ++level) {
    const BlockOf block_of = BlocksOfNumber(level);
    BlockList found = BlockSearch(graph, facts, block_of).Run();
    most = std::max(most, found.paths.size());
    if (std::cmp_greater_equal(found.paths.size(), StagesOf(spec))) {
      return found;
    }
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: the network has {} for {}", ToString(spec),
                          Counted(most, "numbered module"),
                          Counted(StagesOf(spec), "stage")));
}

std::vector<std::string> PathsIn(const std::string& split) {
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin <= split.size();) {
    const std::size_t end = std::min(split.find(':', begin), split.size());
    paths.push_back(split.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

/// Blocks are those that begin stages; the first is what precedes them.
BlockList FindSplit(const OperatorGraph& graph, const StepFacts& facts,
                    const ParallelSpec& spec) {
  const std::vector<std::string> paths = PathsIn(spec.split);
  std::vector<BlockOf> begins;
  for (const std::string& path : paths) begins.push_back(BlocksOfPath(path));
  const BlockOf block_of = [&](std::string_view scope) -> std::string {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!begins[i](scope).empty()) return paths[i];
    }
    return "";
  };
  BlockList found =
      BlockSearch(graph, facts, block_of, {std::string(kStart)}).Run();
  const std::vector<std::string> run(found.paths.begin() + 1,
                                     found.paths.end());
  if (run == paths && std::cmp_equal(found.paths.size(), StagesOf(spec))) {
    return found;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: split names '{}', the network runs '{}', "
                          "expected {} in the order of the forward pass",
                          ToString(spec), Joined(paths), Joined(run),
                          Counted(StagesOf(spec) - 1, "module")));
}

}  // namespace

ForwardStages CutForward(const OperatorGraph& graph, const StepFacts& facts,
                         const ParallelSpec& spec) {
  const BlockList list = spec.split.empty() ? FindBlocks(graph, facts, spec)
                                            : FindSplit(graph, facts, spec);
  const std::vector<int> stages =
      BalancedCut(list.costs, StagesOf(spec)).Stages();
  ForwardStages found{.stage_of = {},
                      .blocks = std::vector<std::string>(StagesOf(spec))};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    std::string& text = found.blocks[IndexOf(stages[i])];
    const bool begins = i == 0 || stages[i - 1] != stages[i];
    const bool ends = i + 1 == stages.size() || stages[i + 1] != stages[i];
    if (begins) text = list.paths[i];
    if (ends && !begins) text += " to " + list.paths[i];
  }
  for (const int block : list.block_of) {
    found.stage_of.push_back(block == kNone ? kNone : stages[IndexOf(block)]);
  }
  return found;
}

}  // namespace foretell::parallel
