#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/surrogate/model.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// One layer: weight * x + bias.
struct DenseLayer {
  Eigen::MatrixXd weight;  ///< [outputs, inputs]
  Eigen::VectorXd bias;    ///< [outputs]
};

/// A range that becomes 0 to 1.
struct Range {
  double low = 0;
  double high = 1;

  double width() const { return high > low ? high - low : 1; }
};

/// Dense layers with ReLUs between, over inputs and a target that were moved
/// from their ranges to 0..1.
class NetworkModel final : public Model {
 public:
  NetworkModel() = default;
  /// One range per input of the first layer; the last layer has one output.
  NetworkModel(std::vector<DenseLayer> layers, std::vector<Range> inputs,
               Range target)
      : layers_(std::move(layers)),
        inputs_(std::move(inputs)),
        target_(target) {}

  Eigen::VectorXd Predict(const Eigen::MatrixXd& inputs) const override;
  void Describe(JsonFields& fields, std::size_t columns) override;

 private:
  std::vector<DenseLayer> layers_;
  std::vector<Range> inputs_;
  Range target_;
};

/// Trains three layers of 64, dropout of a fifth after the first two, for 100
/// epochs of Adam on squared errors (LibTorch), like the study of docs/fit.md,
/// as far as that states it. The same table and seed give the same weights.
NetworkModel TrainNetwork(const Table& table, std::uint64_t seed);

}  // namespace foretell::surrogate
