#pragma once

#include <ATen/core/ivalue.h>

#include <set>
#include <string>

#include "foretell/graph.h"
#include "frontends/exported/graph.h"
#include "frontends/shared/layer_mode.h"

namespace foretell::exported {

/// Switches batch norm and dropout to the mode of a run, if the file was made
/// in the other mode.
class ModeSwitch {
 public:
  ModeSwitch() = default;
  /// For a run of `model` in `mode`. Refers to its nodes.
  ModeSwitch(const Model& model, Mode mode);

  /// Warning about the switch; empty if there is none.
  std::string Warning() const;

  /// `value` of the argument `input` of `node` in this run.
  c10::IValue Apply(const Node& node, const Argument& input,
                    c10::IValue value) const;

  /// True if this run skips `node`: evaluation counts no batches.
  bool Skips(const Node& node) const { return skipped_.contains(&node); }

 private:
  ModeChange change_ = ModeChange::kStay;
  std::set<const Node*> skipped_;
};

}  // namespace foretell::exported
