#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "src/network/graph_batch.h"
#include "src/network/network_kind.h"
#include "src/network/pooling.h"

namespace foretell::learned {

/// Kind and size of a network; the defaults are the paper's.
struct NetworkOptions {
  NetworkKind kind = {};
  std::int64_t node_features = 32;
  std::int64_t static_features = 5;
  std::int64_t hidden = 512;
  std::int64_t graph_blocks = 3;
  std::int64_t layers_per_block = 2;
  std::int64_t head_blocks = 3;
  std::int64_t outputs = 3;
  double dropout = 0.05;
  Pooling pooling = Pooling::kSum;
  /// Corrections of the sum that are averaged, in term networks; 0: the
  /// sum itself is the prediction.
  std::int64_t heads = 3;
  /// Networks that differ only in their random numbers and learn side by side;
  /// their mean is the prediction.
  std::int64_t members = 1;
};

/// What a step of training compares with the targets.
struct TrainingOutput {
  at::Tensor prediction;  ///< As forward would return it.
  /// [num_graphs, outputs] each; the loss is the sum of their losses.
  std::vector<at::Tensor> supervised;
};

/// A network over the nodes of graphs; docs/networks.md has the kinds.
class Network : public torch::nn::Module {
 public:
  explicit Network(const NetworkOptions& options) : options_(options) {}
  const NetworkOptions& options() const { return options_; }

  /// float32 [num_graphs, outputs]; any real number, the caller scales. Drops
  /// elements in training mode only. Throws Error(kInvalidArgument) for a batch
  /// with other numbers of features than the options'.
  virtual at::Tensor forward(const GraphBatch& batch) = 0;
  /// The same with anything else that should be near the targets.
  virtual TrainingOutput TrainingForward(const GraphBatch& batch) {
    const at::Tensor output = forward(batch);
    return {output, {output}};
  }

  /// Numbers that should have mean 0 and deviation 1 over the graphs that are
  /// learned from, [num_graphs, k]; undefined without such numbers.
  virtual at::Tensor InputsToScale(const GraphBatch& /*batch*/) { return {}; }
  /// Scales them from now on: (x - mean) / deviation, [k] each, deviations
  /// above 0. Part of the weights.
  virtual void SetInputScale(const at::Tensor& /*mean*/,
                             const at::Tensor& /*deviation*/) {}
  /// How far graphs are from those learned from: root mean square of the scaled
  /// inputs, [num_graphs], about 1 for graphs like them. Undefined without
  /// scaled inputs.
  virtual at::Tensor InputDistance(const GraphBatch& /*batch*/) { return {}; }

 private:
  NetworkOptions options_;
};

/// Makes a network with random weights drawn from the default generator.
/// Throws Error(kInvalidArgument) for sizes below 1 (static_features, heads: 0)
/// and a dropout outside [0, 1); for term networks also for widths that are not
/// the layout's and for more than one output.
std::shared_ptr<Network> MakeNetwork(const NetworkOptions& options);

}  // namespace foretell::learned
