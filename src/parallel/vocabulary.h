#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"
#include "foretell/parallel.h"
#include "src/parallel/layer_products.h"
#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// The table of a network that has most rows, its words, and the linear layers
/// that score each of them.
struct Vocabulary {
  ParameterIndex table = kNone;  ///< kNone: nothing is looked up.
  std::int64_t words = 0;
  std::vector<ParameterIndex> heads;  ///< With the table, where it is tied.

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

/// The step with what GPUs do where parts of a vocabulary meet what all of them
/// have: words of others are masked before a look-up and its results are added
/// up, a head's are gathered, and each GPU copies its own part out of their
/// gradient. Sizes are those of one GPU that has all words; ShareLayers makes
/// them parts.
///
/// Throws Error(kInvalidArgument) without a table, and for words that GPUs
/// cannot share evenly.
BorderedStep AddVocabularyBorders(const OperatorGraph& graph,
                                  const ParallelSpec& spec,
                                  std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
