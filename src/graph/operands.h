#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/core/failure.h"
#include "src/graph/strides.h"

namespace foretell {

/// The tensors of one node by position; throws Error(kInvalidArgument) with
/// both numbers for an absent one.
class Operands {
 public:
  Operands(const OperatorGraph& graph, const Node& node)
      : graph_(graph), node_(node) {}

  const TensorType& Input(std::size_t index) const {
    return Get(node_.inputs, index, "tensor inputs");
  }
  const TensorType& Output(std::size_t index) const {
    return Get(node_.outputs, index, "results");
  }
  const Shape& InputShape(std::size_t index) const {
    return Input(index).shape;
  }
  /// Size of the last dimension of an input; 1 for a scalar.
  std::int64_t LastOf(std::size_t index) const {
    return InputShape(index).empty() ? 1 : InputShape(index).back();
  }
  std::size_t num_inputs() const { return node_.inputs.size(); }
  const Node& node() const { return node_; }

 private:
  const TensorType& Get(const std::vector<ValueId>& ids, std::size_t index,
                        const char* what) const {
    if (index < ids.size()) return graph_.value(ids[index]).type;
    throw InvalidArgument("{} has {} {}, expected at least {}", node_.target,
                          ids.size(), what, index + 1);
  }

  const OperatorGraph& graph_;
  const Node& node_;
};

}  // namespace foretell
