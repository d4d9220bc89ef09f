#include "src/network/network_parts.h"

#include <ATen/ATen.h>

#include "src/core/failure.h"
#include "src/network/graph_layers.h"

namespace foretell::learned {

DenseLayer::DenseLayer(std::int64_t inputs, std::int64_t outputs, double gain)
    : weight_(register_parameter("weight", HeWeight(outputs, inputs, gain))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor DenseLayer::forward(const at::Tensor& x) {
  return at::linear(x, weight_, bias_);
}

void CheckWidths(const NetworkOptions& options, const GraphBatch& batch,
                 std::string_view node) {
  const auto check = [](std::string_view what, std::int64_t found,
                        std::int64_t expected) {
    if (found == expected) return;
    throw InvalidArgument("a batch with {} {} features; the network takes {}",
                          found, what, expected);
  };
  check(node, batch.nodes.size(1), options.node_features);
  check("static", batch.statics.size(1), options.static_features);
}

}  // namespace foretell::learned
