#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <algorithm>

#include "src/surrogate/network_model.h"

namespace foretell::surrogate {
namespace {

constexpr int kEpochs = 100;
constexpr int kWidth = 64;
constexpr double kDropout = 0.2;
constexpr std::int64_t kBatch = 32;
constexpr double kLearningRate = 1e-3;

Range RangeOf(const Eigen::VectorXd& values) {
  return {values.minCoeff(), values.maxCoeff()};
}

at::Tensor TensorOf(const Eigen::MatrixXd& matrix) {
  at::Tensor tensor = at::empty({matrix.rows(), matrix.cols()}, at::kDouble);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      tensor.data_ptr<double>()[i * matrix.cols() + j] = matrix(i, j);
    }
  }
  return tensor;
}

Eigen::MatrixXd MatrixOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().contiguous();
  Eigen::MatrixXd matrix(tensor.size(0), tensor.size(1));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      matrix(i, j) = flat.data_ptr<double>()[i * matrix.cols() + j];
    }
  }
  return matrix;
}

torch::nn::Sequential MakeLayers(std::int64_t inputs) {
  using torch::nn::Dropout;
  using torch::nn::Linear;
  using torch::nn::ReLU;
  torch::nn::Sequential layers(Linear(inputs, kWidth), ReLU(),
                               Dropout(kDropout), Linear(kWidth, kWidth),
                               ReLU(), Dropout(kDropout), Linear(kWidth, 1));
  layers->to(at::kDouble);
  return layers;
}

void Train(torch::nn::Sequential& layers, const at::Tensor& x,
           const at::Tensor& y) {
  torch::optim::Adam adam(layers->parameters(), kLearningRate);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const at::Tensor order = at::randperm(x.size(0), at::kLong);
    for (std::int64_t i = 0; i < x.size(0); i += kBatch) {
      const at::Tensor rows =
          order.slice(0, i, std::min(i + kBatch, x.size(0)));
      adam.zero_grad();
      at::mse_loss(layers->forward(x.index_select(0, rows)),
                   y.index_select(0, rows))
          .backward();
      adam.step();
    }
  }
}

std::vector<DenseLayer> LayersOf(const torch::nn::Sequential& layers) {
  std::vector<DenseLayer> found;
  for (const auto& module : layers->children()) {
    const auto* linear = module->as<torch::nn::Linear>();
    if (linear == nullptr) continue;
    found.push_back(
        {MatrixOf(linear->weight), MatrixOf(linear->bias.unsqueeze(1)).col(0)});
  }
  return found;
}

}  // namespace

NetworkModel TrainNetwork(const Table& table, std::uint64_t seed) {
  std::vector<Range> ranges;
  Eigen::MatrixXd x = table.inputs;
  for (Eigen::Index i = 0; i < x.cols(); ++i) {
    const Range range = RangeOf(x.col(i));
    ranges.push_back(range);
    x.col(i) = (x.col(i).array() - range.low) / range.width();
  }
  const Range target = RangeOf(table.values);
  const Eigen::VectorXd y =
      (table.values.array() - target.low) / target.width();
  at::manual_seed(seed);
  torch::nn::Sequential layers = MakeLayers(x.cols());
  Train(layers, TensorOf(x), TensorOf(y));
  return NetworkModel(LayersOf(layers), std::move(ranges), target);
}

}  // namespace foretell::surrogate
