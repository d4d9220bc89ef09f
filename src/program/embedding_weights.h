#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace foretell {

/// Parameters whose rows `embedding` looked up on the way to `result`, by
/// autograd's graph of it; empty if there is none. Optimizers treat them in
/// their own way.
std::vector<at::Tensor> EmbeddingWeights(const at::Tensor& result);

}  // namespace foretell
