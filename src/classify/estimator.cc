#include "src/classify/estimator.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/core/name_table.h"
#include "src/network/network_parts.h"

namespace foretell::classify {
namespace {

using learned::DenseLayer;

constexpr NameTable<2> kEstimatorNames = {"mlp", "transformer"};
/// He's rule for layers before a ReLU; Xavier's, roughly, for the others.
constexpr double kBeforeRelu = 1;
constexpr double kPlain = 0.7;
/// Where the gain of the prior starts: 9 % beyond an edge are odds of e².
constexpr double kFirstGain = 2;

/// Fully connected layers with ReLU, and the logits.
class Head : public torch::nn::Module {
 public:
  Head(std::int64_t inputs, const EstimatorOptions& options) {
    for (std::int64_t i = 0; i < options.depth; ++i) {
      layers_.push_back(register_module(
          fmt::format("layer{}", i),
          std::make_shared<DenseLayer>(inputs, options.hidden, kBeforeRelu)));
      inputs = options.hidden;
    }
    logits_ = register_module(
        "logits",
        std::make_shared<DenseLayer>(inputs, options.classes, /*gain=*/0));
  }

  at::Tensor forward(at::Tensor x) {
    for (const auto& layer : layers_) x = at::relu(layer->forward(x));
    return logits_->forward(x);
  }

 private:
  std::vector<std::shared_ptr<DenseLayer>> layers_;
  std::shared_ptr<DenseLayer> logits_;
};

class MlpEstimator : public Estimator {
 public:
  explicit MlpEstimator(const EstimatorOptions& options)
      : head_(register_module(
            "head", std::make_shared<Head>(options.numbers, options))) {}

  at::Tensor Correct(const StepBatch& batch) override {
    return head_->forward(batch.numbers);
  }

 private:
  std::shared_ptr<Head> head_;
};

at::Tensor Norm(const at::Tensor& x) { return at::layer_norm(x, {x.size(-1)}); }

/// One encoder block; norms have no weights of their own.
class Block : public torch::nn::Module {
 public:
  Block(std::int64_t width, std::int64_t heads) : heads_(heads) {
    const auto dense = [this](const char* name, std::int64_t inputs,
                              std::int64_t outputs, double gain) {
      return register_module(
          name, std::make_shared<DenseLayer>(inputs, outputs, gain));
    };
    projection_ = dense("projection", width, 3 * width, kPlain);
    output_ = dense("output", width, width, kPlain);
    inner_ = dense("inner", width, 2 * width, kBeforeRelu);
    outer_ = dense("outer", 2 * width, width, kPlain);
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask) {
    const at::Tensor y = x + Attend(Norm(x), mask);
    return y + outer_->forward(at::relu(inner_->forward(Norm(y))));
  }

 private:
  at::Tensor Attend(const at::Tensor& x, const at::Tensor& mask) {
    const std::int64_t width = x.size(2);
    const std::vector<at::Tensor> parts =
        projection_->forward(x)
            .view({x.size(0), x.size(1), 3, heads_, width / heads_})
            .permute({2, 0, 3, 1, 4})
            .unbind(0);
    const double scale = std::sqrt(static_cast<double>(width / heads_));
    const at::Tensor scores =
        at::matmul(parts[0], parts[1].transpose(2, 3)) / scale + mask;
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), parts[2]);
    return output_->forward(
        mixed.transpose(1, 2).reshape({x.size(0), x.size(1), width}));
  }

  std::int64_t heads_;
  std::shared_ptr<DenseLayer> projection_;
  std::shared_ptr<DenseLayer> output_;
  std::shared_ptr<DenseLayer> inner_;
  std::shared_ptr<DenseLayer> outer_;
};

/// [kMostElements, width]: sines in even columns, cosines in odd ones.
at::Tensor Places(std::int64_t width) {
  const at::Tensor place = at::arange(kMostElements, at::kFloat).unsqueeze(1);
  const at::Tensor slower =
      at::exp(at::arange(0, width, 2, at::kFloat) *
              (-std::log(10000.0) / static_cast<double>(width)));
  const at::Tensor angle = place * slower;
  return at::stack({at::sin(angle), at::cos(angle)}, 2).flatten(1);
}

class TransformerEstimator : public Estimator {
 public:
  explicit TransformerEstimator(const EstimatorOptions& options)
      : places_(Places(options.width)) {
    embedding_ = register_module(
        "embedding",
        std::make_shared<DenseLayer>(kLayerWidth, options.width, kPlain));
    for (std::int64_t i = 0; i < options.blocks; ++i) {
      blocks_.push_back(register_module(
          fmt::format("block{}", i),
          std::make_shared<Block>(options.width, options.heads)));
    }
    head_ = register_module(
        "head",
        std::make_shared<Head>(options.width + options.numbers, options));
  }

  at::Tensor Correct(const StepBatch& batch) override {
    const std::int64_t length = batch.layers.size(1);
    at::Tensor x =
        embedding_->forward(batch.layers) + places_.narrow(0, 0, length);
    const at::Tensor is_layer = batch.is_layer.to(at::kFloat);
    // Nothing attends to what lies beyond the end.
    const at::Tensor mask =
        ((is_layer - 1) * 1e9).view({x.size(0), 1, 1, length});
    for (const auto& block : blocks_) x = block->forward(x, mask);
    const at::Tensor sum = (Norm(x) * is_layer.unsqueeze(2)).sum(1);
    const at::Tensor mean = sum / is_layer.sum(1, /*keepdim=*/true);
    return head_->forward(at::cat({mean, batch.numbers}, 1));
  }

 private:
  at::Tensor places_;
  std::shared_ptr<DenseLayer> embedding_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Head> head_;
};

void CheckSizes(const EstimatorOptions& options) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"numbers", options.numbers}, {"classes", options.classes},
      {"hidden", options.hidden},   {"depth", options.depth},
      {"width", options.width},     {"blocks", options.blocks},
      {"heads", options.heads}};
  for (const auto& [name, size] : sizes) {
    if (size >= 1) continue;
    throw InvalidArgument("estimator with {} {}, expected 1 or more", size,
                          name);
  }
  if (options.width % options.heads == 0 && options.width % 2 == 0) return;
  throw InvalidArgument(
      "estimator of width {} with {} heads: expected an even width that the "
      "heads divide",
      options.width, options.heads);
}

}  // namespace

Estimator::Estimator()
    : gain_(register_parameter("gain", at::full({1}, kFirstGain))) {}

at::Tensor Estimator::forward(const StepBatch& batch) {
  return Correct(batch) + gain_ * batch.prior;
}

std::string_view EstimatorName(EstimatorKind kind) {
  return NameIn(kEstimatorNames, kind);
}

std::optional<EstimatorKind> ParseEstimator(std::string_view name) {
  return FindIn<EstimatorKind>(kEstimatorNames, name);
}

std::shared_ptr<Estimator> MakeEstimator(const EstimatorOptions& options) {
  CheckSizes(options);
  if (options.kind == EstimatorKind::kMlp) {
    return std::make_shared<MlpEstimator>(options);
  }
  return std::make_shared<TransformerEstimator>(options);
}

}  // namespace foretell::classify
