#pragma once

#include <span>

#include "src/features/terms.h"
#include "src/network/graph_batch.h"

namespace foretell::learned {

/// One table for a batch; what it refers to must live until it is collated.
struct TermInput {
  const TermTable* table = nullptr;
  std::span<const float> statics;  ///< As GraphInput::statics.
};

/// Puts tables into a batch on the CPU, in their order: a term is a node with
/// the edges of its table, its row of `nodes` the class as one-hot, then the
/// features; `shares` are the amounts; `statics` of a graph are followed by its
/// totals. Throws Error(kInvalidArgument) for no table, a table without terms,
/// lengths that contradict the layout, a class out of range, statics of
/// different lengths, edges that leave their table or are loops.
GraphBatch CollateTerms(std::span<const TermInput> graphs, TermSet set);

}  // namespace foretell::learned
