#include "src/program/embedding_weights.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <unordered_set>

namespace foretell {

std::vector<at::Tensor> EmbeddingWeights(const at::Tensor& result) {
  using torch::autograd::AccumulateGrad;
  std::vector<at::Tensor> weights;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> open = {result.grad_fn().get()};
  while (!open.empty()) {
    const torch::autograd::Node* const node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    const bool looks_up = node->name().starts_with("EmbeddingBackward");
    for (const torch::autograd::Edge& edge : node->next_edges()) {
      const torch::autograd::Node* const next = edge.function.get();
      const auto* const leaf = dynamic_cast<const AccumulateGrad*>(next);
      if (looks_up && leaf != nullptr) weights.push_back(leaf->variable);
      open.push_back(next);
    }
  }
  return weights;
}

}  // namespace foretell
