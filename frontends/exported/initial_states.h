#pragma once

#include <ATen/core/ivalue.h>

#include <set>

#include "foretell/program.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Gives the states that recurrent layers begin with the type of a run, as the
/// layers themselves would.
class InitialStates {
 public:
  /// For a run of `graph` in `precision`. Refers to its nodes.
  InitialStates(const Graph& graph, Precision precision);

  /// `value` of the argument `input` of `node` in this run.
  c10::IValue Apply(const Node& node, const Argument& input,
                    c10::IValue value) const;

 private:
  std::set<const Node*> makers_;
  Precision precision_;
};

}  // namespace foretell::exported
