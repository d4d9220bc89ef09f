#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// What the modules of a network were called with, alive until they return.
///
/// In Python the caller's frame and nn.Module.__call__ hold a reference to each
/// argument, whether it is read again or not (torch/nn/modules/module.py,
/// _call_impl). A file has only the operators, and would let it die after its
/// last reader.
class HeldArguments {
 public:
  /// The next operator, `node`, runs in the modules `calls`, outermost first,
  /// without the network itself. Releases what was held for modules that are
  /// over.
  void Enter(const std::vector<std::string>& calls, NodeId node);
  /// It reads `tensor`, which the node `maker` made: an argument of the
  /// outermost of those modules that was not running then, if there is one.
  void Read(const at::Tensor& tensor, NodeId maker);
  /// All modules are over.
  void Return() { open_.clear(); }

 private:
  struct Call {
    std::string name;
    NodeId first = kNone;  ///< Its first operator.
    std::vector<at::Tensor> arguments;
  };
  std::vector<Call> open_;
};

}  // namespace foretell
