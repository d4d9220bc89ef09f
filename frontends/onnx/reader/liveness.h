#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// For each node of a body, the names that are not read after it. Names that
/// inner graphs capture count as read by the node that holds them.
class Liveness {
 public:
  Liveness(const std::vector<Node>& nodes,
           const std::vector<std::string>& outputs);

  std::span<const std::string> dying_after(std::size_t node) const {
    return dying_[node];
  }

 private:
  std::vector<std::vector<std::string>> dying_;
};

/// Names of a graph's outputs in order.
std::vector<std::string> OutputNames(const Graph& graph);

}  // namespace foretell::onnx
