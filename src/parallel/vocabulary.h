#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"
#include "foretell/parallel.h"
#include "src/parallel/layer_products.h"
#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// The network's largest embedding table by rows, and the linear layers that
/// score each row.
struct Vocabulary {
  ParameterIndex table = kNone;  ///< kNone: no look-up.
  std::int64_t words = 0;
  std::vector<ParameterIndex> heads;  ///< Includes the table if it is tied.

  bool IsHead(ParameterIndex weight) const;
};

/// Layers for which `is_whole` is false are not heads.
Vocabulary FindVocabulary(const OperatorGraph& graph, const StepFacts& facts,
                          const LayerProducts& products,
                          const std::vector<bool>& is_whole);

/// A step with what it trains.
struct BorderedStep {
  OperatorGraph graph;
  std::vector<TrainedParameter> trained;
};

/// Adds the operators between the sharded vocabulary and replicated tensors:
/// masks other GPUs' words before a look-up and sums its results, gathers the
/// results of a head, and copies each GPU's part of their gradient. Sizes are
/// those of one GPU that has all words; ShareLayers makes them parts.
///
/// Throws Error(kInvalidArgument) without a table, and for words that GPUs
/// cannot share evenly.
BorderedStep AddVocabularyBorders(const OperatorGraph& graph,
                                  const ParallelSpec& spec,
                                  std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
