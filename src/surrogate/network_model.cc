#include "src/surrogate/network_model.h"

#include <fmt/core.h>

#include "src/core/json_fields.h"

namespace foretell::surrogate {
namespace {

std::vector<double> Numbers(const Eigen::MatrixXd& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

std::vector<double> EndsOf(const Range& range) {
  return {range.low, range.high};
}

Range RangeBetween(JsonFields& fields, const std::string& key,
                   const std::vector<double>& ends) {
  fields.Require(ends.size() == 2 && ends[0] <= ends[1], key,
                 fmt::format("has {} numbers, expected two in ascending order",
                             ends.size()));
  return {ends[0], ends[1]};
}

/// A layer of `inputs` inputs; weights are stored column by column.
void DescribeLayer(JsonFields& fields, DenseLayer& layer, Eigen::Index inputs) {
  auto weight = Numbers(layer.weight);
  auto bias = Numbers(layer.bias);
  fields.Value("weight", weight);
  fields.Value("bias", bias);
  if (!fields.IsReading()) return;
  fields.Require(
      !bias.empty() &&
          weight.size() == bias.size() * static_cast<std::size_t>(inputs),
      "weight",
      fmt::format("has {} numbers, expected {} times {}", weight.size(),
                  bias.size(), inputs));
  const Eigen::Index outputs = std::ssize(bias);
  layer = {Eigen::Map<const Eigen::MatrixXd>(weight.data(), outputs, inputs),
           Eigen::Map<const Eigen::VectorXd>(bias.data(), outputs)};
}

}  // namespace

Eigen::VectorXd NetworkModel::Predict(const Eigen::MatrixXd& inputs) const {
  Eigen::MatrixXd x = inputs.transpose();
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const Range& range = inputs_[static_cast<std::size_t>(i)];
    x.row(i) = (x.row(i).array() - range.low) / range.width();
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) x = x.cwiseMax(0);
    x = ((layers_[i].weight * x).colwise() + layers_[i].bias).eval();
  }
  return (x.row(0).array() * target_.width() + target_.low).transpose();
}

void NetworkModel::Describe(JsonFields& fields, std::size_t columns) {
  std::vector<std::vector<double>> inputs;
  for (const Range& range : inputs_) inputs.push_back(EndsOf(range));
  std::vector<double> target = EndsOf(target_);
  auto width = static_cast<Eigen::Index>(columns);
  fields.Value("input_ranges", inputs);
  fields.Value("target_range", target);
  fields.Objects("layers", layers_, [&](JsonFields& in, DenseLayer& layer) {
    DescribeLayer(in, layer, width);
    width = layer.bias.size();
  });
  if (!fields.IsReading()) return;
  fields.Require(
      inputs.size() == columns, "input_ranges",
      fmt::format("has {} ranges, expected {}", inputs.size(), columns));
  for (const std::vector<double>& ends : inputs) {
    inputs_.push_back(RangeBetween(fields, "input_ranges", ends));
  }
  target_ = RangeBetween(fields, "target_range", target);
  fields.Require(!layers_.empty() && width == 1, "layers",
                 fmt::format("end in {} numbers, expected 1", width));
}

}  // namespace foretell::surrogate
