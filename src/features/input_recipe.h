#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/run.h"
#include "src/features/input_columns.h"
#include "src/features/targets.h"
#include "src/features/terms.h"

namespace foretell::learned {

/// Which edges networks see.
enum class EdgeKind {
  kDataFlow,  ///< From producers to consumers.
  kChain,     ///< From every node to the next one, as DIPPM's released code.
  kNone,      ///< No edges: every node for itself.
};
/// "data-flow", "chain", "none".
std::string_view EdgeKindName(EdgeKind kind);
std::optional<EdgeKind> ParseEdgeKind(std::string_view name);

/// What a network sees of a graph, and how that is made: MakeInput follows it
/// in training and in prediction. A checkpoint carries it.
struct InputRecipe {
  /// The network sees terms instead of operators.
  std::optional<TermSet> terms = {};
  EdgeKind edges = EdgeKind::kDataFlow;  ///< Between operators, or terms.
  bool node_costs = false;               ///< Operators show NodeCosts, too.
  /// Numbers of the graph as a whole, in the order of the network's inputs.
  std::vector<InputColumn> columns = {};
  /// A first estimate, which kPrior columns show: "analytic", …; empty: the
  /// network predicts alone. A graph network corrects it. A term network, which
  /// corrects terms of its own, is averaged with it.
  std::string prior = {};
  /// Name of the context model of the prior and of terms of memory; empty: the
  /// catalogue's default.
  std::string context = {};
  Host host = Host::kPython;  ///< Calls the operators of prior and costs.
  /// Labels are of networks as they were before an exporter folded their batch
  /// norms: terms, prior and costs are of a Run with `restore_folded_norms`.
  bool restore_folded_norms = true;

  /// Texts of the label's setting that columns show, each field once.
  std::vector<std::string> SettingKeys() const;
  bool AveragesPrior() const { return terms && !prior.empty(); }
  /// What the network's output is a multiple of: of `priors` that of `target`,
  /// or 1 if there is no prior to correct.
  double FactorOf(const TargetValues& priors, Target target) const;
  /// The prediction when the network's is `learned`: itself, or the geometric
  /// mean with the prior if that is averaged.
  double Combine(double learned, const TargetValues& priors,
                 Target target) const;
  bool operator==(const InputRecipe&) const = default;
};

/// `run` as networks with this recipe learned it: with the recipe's host and
/// treatment of folded norms, and on boards at their own power limit.
Run RunAsLearned(const Run& run, const InputRecipe& recipe);

/// The keys of columns, without their scales.
std::vector<ColumnKey> KeysOf(const std::vector<InputColumn>& columns);

}  // namespace foretell::learned
