#pragma once

#include <ATen/core/ivalue.h>

#include <string>

#include "foretell/graph.h"
#include "frontends/exported/graph.h"
#include "frontends/shared/layer_mode.h"

namespace foretell::exported {

/// A file holds whether batch norm and dropout train, as they did when it was
/// made. A run in the other mode switches them.
class ModeSwitch {
 public:
  ModeSwitch() = default;
  /// For a run of `graph` in `mode`.
  ModeSwitch(const Graph& graph, Mode mode);

  /// What a user should know of the switch; empty where there is none.
  std::string Warning() const;

  /// `value` of the argument `input` of `node` in this run.
  c10::IValue Apply(const Node& node, const Argument& input,
                    c10::IValue value) const;

 private:
  ModeChange change_ = ModeChange::kStay;
};

}  // namespace foretell::exported
