// The networks of the paper's comparison: one frame, five kinds of layer.
//
//     x      nodes [N, 32]
//     × 3    x = dropout(ReLU(layer(ReLU(layer(x)))))         [N, hidden]
//     z      pool of x over each graph                        [B, hidden]
//     h      [z, static features]                             [B, hidden + 5]
//     × 3    h = dropout(ReLU(W h + b))                       [B, hidden]
//     y      W h + b                                          [B, outputs]
//
// With the pooling "prior" the head comes before the sum. A latency is a sum
// over operators, and an analytic model knows each one's share s of it; what is
// to be learned is by which factor each share is wrong:
//
//     h      [x, static features of the node's graph]         [N, hidden + S]
//     × 3    h = dropout(ReLU(W h + b))                       [N, hidden]
//     e      c tanh((W h + b) / c), c = 3                     [N, outputs]
//     y      log sum over the graph of s exp(e)               [B, outputs]
//
// so that prior × exp(y) is the corrected sum. It needs to know operators, not
// networks, and so carries over to networks made of known operators. Factors
// are held within e^±3.
//
// Size of the numbers. The paper pools by the sum, and graphs have 10 to 2,000
// nodes: with weights that keep the size of activations, the pooled rows would
// be hundreds while the static features are about 1, and the first steps of
// training would only undo that. The pooled sum is therefore multiplied by the
// constant 1 / 128, a typical number of nodes. That is the same family of
// functions (the first dense layer's weights absorb the constant), and a graph
// twice as large still has twice the sum, which a division by √N or N would
// take away. All weights follow He's rule, the last layer at a tenth of it: an
// untrained network answers about 0, which in a space of scaled logarithms is
// the mean of the labels, and with an analytic prior is the prior itself.
// PyTorch's own default (uniform, deviation 1 / √(3 fan-in)) shrinks a signal
// by 0.4 per ReLU layer, to a hundredth after six.
#include "src/network/graph_network.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <vector>

#include "src/core/failure.h"
#include "src/network/graph_layers.h"
#include "src/network/network_parts.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {
namespace {

constexpr double kSumPoolingScale = 1.0 / 128;
constexpr double kLastLayerGain = 0.1;
/// Largest |log| of a node's correction with the pooling "prior".
constexpr double kLargestCorrection = 3;
/// Below every share that matters; a graph without kernels has no shares.
constexpr double kLeastSum = 1e-20;

/// Parameters are named "graph.<layer>.…" (counted through all blocks),
/// "head.<layer>.…" and "output.…".
class GraphNetwork : public Network {
 public:
  explicit GraphNetwork(const NetworkOptions& options) : Network(options) {
    AddGraphLayers();
    AddHead();
  }

  at::Tensor forward(const GraphBatch& batch) override;

 private:
  void AddGraphLayers();
  void AddHead();
  at::Tensor Embed(const GraphBatch& batch);
  at::Tensor Pool(const at::Tensor& x, const GraphBatch& batch) const;
  at::Tensor Head(at::Tensor h);
  at::Tensor CorrectShares(const at::Tensor& x, const GraphBatch& batch);

  std::vector<std::shared_ptr<GraphLayer>> graph_;
  std::vector<std::shared_ptr<DenseLayer>> head_;
  std::shared_ptr<DenseLayer> output_;
};

void GraphNetwork::AddGraphLayers() {
  auto layers = std::make_shared<torch::nn::Module>();
  std::int64_t width = options().node_features;
  const std::int64_t count =
      options().graph_blocks * options().layers_per_block;
  for (std::int64_t i = 0; i < count; ++i) {
    graph_.push_back(layers->register_module(
        fmt::format("{}", i),
        MakeGraphLayer(options().kind.layer, width, options().hidden)));
    width = options().hidden;
  }
  register_module("graph", std::move(layers));
}

void GraphNetwork::AddHead() {
  auto layers = std::make_shared<torch::nn::Module>();
  std::int64_t width = options().hidden + options().static_features;
  for (std::int64_t i = 0; i < options().head_blocks; ++i) {
    head_.push_back(layers->register_module(
        fmt::format("{}", i),
        std::make_shared<DenseLayer>(width, options().hidden, 1)));
    width = options().hidden;
  }
  register_module("head", std::move(layers));
  output_ = register_module(
      "output",
      std::make_shared<DenseLayer>(width, options().outputs, kLastLayerGain));
}

at::Tensor GraphNetwork::Embed(const GraphBatch& batch) {
  const Aggregation aggregation = AggregationFor(options().kind.layer, batch);
  const auto per_block = static_cast<std::size_t>(options().layers_per_block);
  at::Tensor x = batch.nodes;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const bool ends_block = (i + 1) % per_block == 0;
    x = ReluDropout(graph_[i]->forward(x, aggregation),
                    ends_block && is_training() ? options().dropout : 0);
  }
  return x;
}

at::Tensor GraphNetwork::Pool(const at::Tensor& x,
                              const GraphBatch& batch) const {
  const at::Tensor pooled = PoolGraphs(x, batch.graph_begin, options().pooling);
  return options().pooling == Pooling::kSum ? pooled * kSumPoolingScale
                                            : pooled;
}

at::Tensor GraphNetwork::Head(at::Tensor h) {
  for (const std::shared_ptr<DenseLayer>& layer : head_) {
    h = ReluDropout(layer->forward(h), is_training() ? options().dropout : 0);
  }
  return output_->forward(h);
}

at::Tensor GraphNetwork::CorrectShares(const at::Tensor& x,
                                       const GraphBatch& batch) {
  if (!batch.shares.defined()) {
    throw InvalidArgument(
        "a batch without shares of a prior; pooling 'prior' needs them");
  }
  const at::Tensor statics = at::repeat_interleave(
      batch.statics, at::diff(batch.graph_begin).to(at::kLong), /*dim=*/0);
  const at::Tensor raw = Head(at::cat({x, statics}, /*dim=*/1));
  const at::Tensor bounded =
      (raw / kLargestCorrection).tanh() * kLargestCorrection;
  const at::Tensor corrected = batch.shares.unsqueeze(1) * bounded.exp();
  return PoolGraphs(corrected, batch.graph_begin, Pooling::kSum)
      .clamp_min(kLeastSum)
      .log();
}

at::Tensor GraphNetwork::forward(const GraphBatch& batch) {
  CheckWidths(options(), batch, "node");
  const at::Tensor x = Embed(batch);
  if (options().pooling == Pooling::kPrior) return CorrectShares(x, batch);
  return Head(at::cat({Pool(x, batch), batch.statics}, /*dim=*/1));
}

}  // namespace

std::shared_ptr<Network> MakeGraphNetwork(const NetworkOptions& options) {
  return std::make_shared<GraphNetwork>(options);
}

}  // namespace foretell::learned
