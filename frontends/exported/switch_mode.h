#pragma once

#include <ATen/core/ivalue.h>

#include <set>
#include <string>

#include "foretell/graph.h"
#include "frontends/exported/graph.h"
#include "frontends/shared/layer_mode.h"

namespace foretell::exported {

/// A file records whether batch norm and dropout trained when it was made. A
/// run in the other mode switches them.
class ModeSwitch {
 public:
  ModeSwitch() = default;
  /// For a run of `model` in `mode`. Refers to its nodes.
  ModeSwitch(const Model& model, Mode mode);

  /// What a user should know about the switch; empty if there is none.
  std::string Warning() const;

  /// `value` of the argument `input` of `node` in this run.
  c10::IValue Apply(const Node& node, const Argument& input,
                    c10::IValue value) const;

  /// Whether this run leaves `node` out: evaluation counts no batches.
  bool Skips(const Node& node) const { return skipped_.contains(&node); }

 private:
  ModeChange change_ = ModeChange::kStay;
  std::set<const Node*> skipped_;
};

}  // namespace foretell::exported
