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

/// Edges that a network receives.
enum class EdgeKind {
  kDataFlow,  ///< From producers to consumers.
  kChain,     ///< From every node to the next one, as DIPPM's released code.
  kNone,      ///< No edges: every node for itself.
};
/// "data-flow", "chain", "none".
std::string_view EdgeKindName(EdgeKind kind);
std::optional<EdgeKind> ParseEdgeKind(std::string_view name);

/// Input of a network for a graph and how to compute it: used by MakeInput in
/// training and prediction, and stored in checkpoints.
struct InputRecipe {
  /// The network receives terms instead of operators.
  std::optional<TermSet> terms = {};
  EdgeKind edges = EdgeKind::kDataFlow;  ///< Between operators, or terms.
  bool node_costs = false;               ///< Operators have NodeCosts as well.
  /// Numbers of the graph as a whole, in the order of the network's inputs.
  std::vector<InputColumn> columns = {};
  /// A first estimate, which kPrior columns show: "analytic", …; empty: none. A
  /// graph network corrects it; a term network, which corrects its own terms,
  /// is averaged with it.
  std::string prior = {};
  /// Name of the context model of the prior and of terms of memory; empty: the
  /// catalogue's default.
  std::string context = {};
  Host host = Host::kPython;  ///< Host runtime of prior and costs. Labels are
                              ///< from networks whose batch norms were not
                              ///< folded: terms, prior and costs use a Run with
                              ///< `restore_folded_norms`.
  bool restore_folded_norms = true;

  /// Texts of the label's setting that columns show, each field once.
  std::vector<std::string> SettingKeys() const;
  bool AveragesPrior() const { return terms && !prior.empty(); }
  /// Factor of the network's output: the prior of `target` in `priors`, or 1 if
  /// there is no prior to correct.
  double FactorOf(const TargetValues& priors, Target target) const;
  /// The final prediction: `learned`, or its geometric mean with the prior if
  /// they are averaged.
  double Combine(double learned, const TargetValues& priors,
                 Target target) const;
  bool operator==(const InputRecipe&) const = default;
};

/// `run` as in the training of networks with this recipe: with its host and
/// treatment of folded norms, and the board's default power limit.
Run RunAsLearned(const Run& run, const InputRecipe& recipe);

/// The keys of columns, without their scales.
std::vector<ColumnKey> KeysOf(const std::vector<InputColumn>& columns);

}  // namespace foretell::learned
