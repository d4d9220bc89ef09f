// A figure as a corrected sum of terms that physics gives.
//
// Stage 1 corrects every term by what is known of it alone. With a_i the amount
// (ms or MiB), c_i the class as one-hot and f_i the features of term i,
//
//     z_0    SiLU(W [c, f] + b)                                  [N, hidden]
//     z_l    z_{l-1} + SiLU(W z_{l-1} + b)
//     e      3 tanh((w z + b) / 3)                               [N]
//     T      Σ a exp(e)                                          [B]
//
// In a set with edges a term also learns of those that it reads from: the
// layers after the first are GraphSAGE's, as in the paper's network,
//
//     z_l    z_{l-1} + SiLU(W [z_{l-1}, mean_j z_{l-1,j}] + b)
//
// over the producers j of term i, so that with k layers e knows k - 1 kernels
// back. The rest is the same.
//
// Terms of plain classes (launches, the context) have one number e per class
// instead. A first stage of this form carries over to graphs made of known
// kernels, whatever graph they stand in, but cannot know what it has no feature
// for: how kernels follow each other, what an old version of a library lacks.
//
// Stage 2 corrects the sum by how it is made up. From the share of every class
// in T, log T, the totals of the graph and its static features
//
//     r      w SiLU(W dropout(SiLU(W s + b)) + b) + b            [B]
//     y      log T + r
//
// Several such heads, which differ only in their random numbers, are averaged.
//
// s is scaled to mean 0 and deviation 1 over the graphs that are learned from,
// with its values before any training. That matters most for classes with a
// small share: without it the heads hardly use them, and correct nothing.
//
// Both stages learn at once: the loss is that of log T plus those of the heads,
// and no gradient goes from a head into T, so that stage 1 stays the best
// estimate of its own. Corrections start at 0. A hundredth of e^±3 bounds what
// a kernel unlike all others can do to a sum; unbounded, single kernels were
// predicted ten thousand times too long. A class that training has not seen
// must not enter by random weights: those of classes start at 0, and in
// training a class is hidden from a term in three of a hundred cases, so that
// "no class" means an unknown one. Features have noise added in training, as
// there are few networks and many kernels in each.
#include "src/network/term_network.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <vector>

#include "src/core/failure.h"
#include "src/network/graph_layers.h"
#include "src/network/network_parts.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {
namespace {

constexpr double kLargestTermCorrection = 3;
constexpr double kHiddenClasses = 0.03;
constexpr double kFeatureNoise = 0.03;
/// What the heads see counts as no more than so many deviations away.
constexpr double kFarthest = 4;
constexpr double kLeastTermSum = 1e-20;

/// Log-factors of terms with features: [N, width] to [N, 1].
class TermCorrection : public torch::nn::Module {
 public:
  TermCorrection(const TermLayout& layout, std::int64_t hidden,
                 std::int64_t layers)
      : input_(register_module(
            "input", std::make_shared<DenseLayer>(
                         layout.num_classes + layout.num_features, hidden, 1))),
        layer_(layout.has_edges ? LayerKind::kPmgns : LayerKind::kMlp),
        output_(register_module("output",
                                std::make_shared<DenseLayer>(hidden, 1, 0))) {
    const at::NoGradGuard no_gradients;
    input_->weight().narrow(1, 0, layout.num_classes).zero_();
    for (std::int64_t i = 1; i < layers; ++i) {
      hidden_.push_back(register_module(
          fmt::format("hidden{}", i), MakeGraphLayer(layer_, hidden, hidden)));
    }
  }

  at::Tensor forward(const at::Tensor& x, const GraphBatch& batch) {
    const Aggregation aggregation = AggregationFor(layer_, batch);
    at::Tensor z = at::silu(input_->forward(x));
    for (const std::shared_ptr<GraphLayer>& layer : hidden_) {
      z = z + at::silu(layer->forward(z, aggregation));
    }
    return output_->forward(z);
  }

 private:
  std::shared_ptr<DenseLayer> input_;
  LayerKind layer_;
  std::vector<std::shared_ptr<GraphLayer>> hidden_;
  std::shared_ptr<DenseLayer> output_;
};

/// Log-factor of a whole sum: [B, inputs] to [B, 1].
class SumCorrection : public torch::nn::Module {
 public:
  SumCorrection(std::int64_t inputs, std::int64_t hidden, double dropout)
      : dropout_(dropout),
        first_(register_module(
            "first", std::make_shared<DenseLayer>(inputs, hidden, 1))),
        second_(register_module(
            "second", std::make_shared<DenseLayer>(hidden, hidden, 1))),
        output_(register_module("output",
                                std::make_shared<DenseLayer>(hidden, 1, 0))) {}

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor z = at::silu(first_->forward(x));
    z = at::dropout(z, dropout_, is_training());
    return output_->forward(at::silu(second_->forward(z)));
  }

 private:
  double dropout_;
  std::shared_ptr<DenseLayer> first_;
  std::shared_ptr<DenseLayer> second_;
  std::shared_ptr<DenseLayer> output_;
};

/// Parameters are named "terms.…", "plain" and "heads.<head>.…".
class TermNetwork : public Network {
 public:
  TermNetwork(const NetworkOptions& options, const TermLayout& layout)
      : Network(options),
        layout_(layout),
        plain_(register_parameter(
            "plain",
            at::zeros({layout.num_classes - layout.first_plain_class, 1}))) {
    if (layout.num_features > 0) {
      terms_ = register_module(
          "terms", std::make_shared<TermCorrection>(
                       layout, options.hidden,
                       options.graph_blocks * options.layers_per_block));
    }
    auto heads = std::make_shared<torch::nn::Module>();
    const std::int64_t inputs =
        layout.num_classes + 1 + options.static_features;
    for (std::int64_t i = 0; i < options.heads; ++i) {
      heads_.push_back(heads->register_module(
          fmt::format("{}", i), std::make_shared<SumCorrection>(
                                    inputs, options.hidden, options.dropout)));
    }
    register_module("heads", std::move(heads));
    mean_ = register_buffer("mean", at::zeros({inputs}));
    deviation_ = register_buffer("deviation", at::ones({inputs}));
  }

  at::Tensor forward(const GraphBatch& batch) override {
    return TrainingForward(batch).prediction;
  }

  TrainingOutput TrainingForward(const GraphBatch& batch) override;
  at::Tensor InputsToScale(const GraphBatch& batch) override {
    return AddUp(batch).seen;
  }
  void SetInputScale(const at::Tensor& mean,
                     const at::Tensor& deviation) override {
    mean_.copy_(mean);
    deviation_.copy_(deviation);
  }
  at::Tensor InputDistance(const GraphBatch& batch) override {
    return Scaled(AddUp(batch).seen).square().mean(1).sqrt();
  }

 private:
  /// Stage 1 and what the heads see of it.
  struct Sum {
    at::Tensor log;   ///< [B, 1].
    at::Tensor seen;  ///< [B, inputs of a head], without gradient.
  };

  Sum AddUp(const GraphBatch& batch);
  at::Tensor Scaled(const at::Tensor& seen) const {
    return (seen - mean_) / deviation_;
  }
  at::Tensor LogFactors(const GraphBatch& batch);

  TermLayout layout_;
  at::Tensor plain_;
  std::shared_ptr<TermCorrection> terms_;
  std::vector<std::shared_ptr<SumCorrection>> heads_;
  at::Tensor mean_;  ///< Mean of what the heads see.
  at::Tensor deviation_;
};

at::Tensor TermNetwork::LogFactors(const GraphBatch& batch) {
  const at::Tensor& nodes = batch.nodes;
  const std::int64_t plain_classes = plain_.size(0);
  const at::Tensor plain =
      nodes.narrow(1, layout_.first_plain_class, plain_classes);
  at::Tensor raw = plain.matmul(plain_);
  if (terms_) {
    at::Tensor classes = nodes.narrow(1, 0, layout_.num_classes);
    at::Tensor features =
        nodes.narrow(1, layout_.num_classes, layout_.num_features);
    if (is_training()) {
      classes =
          classes *
          (at::rand({nodes.size(0), 1}, nodes.options()).ge(kHiddenClasses));
      features = features + kFeatureNoise * at::randn_like(features);
    }
    const at::Tensor learned =
        terms_->forward(at::cat({classes, features}, /*dim=*/1), batch);
    raw = raw + learned * (1 - plain.sum(1, /*keepdim=*/true));
  }
  return (raw / kLargestTermCorrection).tanh() * kLargestTermCorrection;
}

TermNetwork::Sum TermNetwork::AddUp(const GraphBatch& batch) {
  CheckWidths(options(), batch, "term");
  if (!batch.shares.defined()) {
    throw InvalidArgument("a batch without amounts of terms");
  }
  const at::Tensor amounts =
      batch.shares.unsqueeze(1) * LogFactors(batch).exp();
  const at::Tensor by_class =
      PoolGraphs(amounts * batch.nodes.narrow(1, 0, layout_.num_classes),
                 batch.graph_begin, Pooling::kSum);
  const at::Tensor sum =
      by_class.sum(1, /*keepdim=*/true).clamp_min(kLeastTermSum);
  const at::Tensor log_sum = sum.log();
  return {log_sum,
          at::cat({(by_class / sum).detach(), log_sum.detach(), batch.statics},
                  /*dim=*/1)};
}

TrainingOutput TermNetwork::TrainingForward(const GraphBatch& batch) {
  const Sum sum = AddUp(batch);
  const at::Tensor seen = Scaled(sum.seen).clamp(-kFarthest, kFarthest);
  TrainingOutput output{.supervised = {sum.log}};
  for (const std::shared_ptr<SumCorrection>& head : heads_) {
    output.supervised.push_back(sum.log.detach() + head->forward(seen));
  }
  if (heads_.empty()) return {sum.log, {sum.log}};
  const auto corrected = at::TensorList(output.supervised).slice(1);
  output.prediction = at::cat(corrected, /*dim=*/1).mean(1, /*keepdim=*/true);
  return output;
}

void CheckLayout(const NetworkOptions& options, const TermLayout& layout) {
  const auto expect = [&options](const char* what, std::int64_t found,
                                 std::int64_t expected) {
    if (found == expected) return;
    throw InvalidArgument("network '{}': {} is {}, expected {}",
                          NetworkKindName(options.kind), what, found, expected);
  };
  expect("outputs", options.outputs, 1);
  expect("node_features", options.node_features,
         layout.num_classes + layout.num_features);
}

}  // namespace

std::shared_ptr<Network> MakeTermNetwork(const NetworkOptions& options) {
  const TermLayout layout = LayoutOf(*options.kind.terms);
  CheckLayout(options, layout);
  return std::make_shared<TermNetwork>(options, layout);
}

}  // namespace foretell::learned
