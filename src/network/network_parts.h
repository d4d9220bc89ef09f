#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>

#include "src/network/graph_batch.h"
#include "src/network/network.h"

namespace foretell::learned {

/// W x + b; the bias starts at 0, the weights at `gain` times He's.
class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(std::int64_t inputs, std::int64_t outputs, double gain);

  at::Tensor forward(const at::Tensor& x);
  at::Tensor& weight() { return weight_; }  ///< [outputs, inputs].

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// Throws Error(kInvalidArgument) unless `batch` has the widths of `options`.
/// `node` names what the batch's nodes are: "node", "term".
void CheckWidths(const NetworkOptions& options, const GraphBatch& batch,
                 std::string_view node);

}  // namespace foretell::learned
