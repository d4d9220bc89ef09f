#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>

#include "foretell/graph.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// A file holds whether batch norm and dropout train, as they did when it was
/// made. A run in the other mode switches them, as
/// torchao.quantization.pt2e.move_exported_model_to_train does.
class ModeSwitch {
 public:
  ModeSwitch() = default;
  /// For a run of `graph` in `mode`: training switches a file in which nothing
  /// trains, inference one in which something does.
  ModeSwitch(const Graph& graph, Mode mode);

  /// What a user should know of the switch; empty where there is none.
  std::string Warning() const;

  /// `value` of the argument `input` of `node` in this run.
  c10::IValue Apply(const Node& node, const Argument& input,
                    c10::IValue value) const;

 private:
  enum class Change : std::uint8_t { kNone, kToTraining, kToInference };
  Change change_ = Change::kNone;
};

}  // namespace foretell::exported
