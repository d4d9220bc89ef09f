#include "src/surrogate/network_model.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace foretell::surrogate {
namespace {

std::vector<double> Numbers(const Eigen::MatrixXd& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

nlohmann::ordered_json RangeJson(const Range& range) {
  return {range.low, range.high};
}

Range ReadRange(JsonObject& object, const std::string& key,
                const std::vector<double>& pair) {
  if (pair.size() == 2 && pair[0] <= pair[1]) return {pair[0], pair[1]};
  object.Fail(key,
              fmt::format("has {} numbers, expected two in ascending order",
                          pair.size()));
}

/// A layer of `inputs` inputs; weights are stored column by column.
DenseLayer ReadLayer(JsonObject& object, Eigen::Index inputs) {
  const auto weight = object.Get<std::vector<double>>("weight");
  const auto bias = object.Get<std::vector<double>>("bias");
  object.Finish();
  if (bias.empty() ||
      weight.size() != bias.size() * static_cast<std::size_t>(inputs)) {
    object.Fail("weight", fmt::format("has {} numbers, expected {} times {}",
                                      weight.size(), bias.size(), inputs));
  }
  const Eigen::Index outputs = std::ssize(bias);
  return {Eigen::Map<const Eigen::MatrixXd>(weight.data(), outputs, inputs),
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

nlohmann::ordered_json NetworkModel::ToJson() const {
  nlohmann::ordered_json json = {{"input_ranges", {}},
                                 {"target_range", RangeJson(target_)},
                                 {"layers", {}}};
  for (const Range& range : inputs_) {
    json["input_ranges"].push_back(RangeJson(range));
  }
  for (const DenseLayer& layer : layers_) {
    json["layers"].push_back(
        {{"weight", Numbers(layer.weight)}, {"bias", Numbers(layer.bias)}});
  }
  return json;
}

std::unique_ptr<Model> NetworkModel::FromJson(JsonObject object,
                                              std::size_t columns) {
  std::vector<Range> inputs;
  for (const auto& pair :
       object.Get<std::vector<std::vector<double>>>("input_ranges")) {
    inputs.push_back(ReadRange(object, "input_ranges", pair));
  }
  if (inputs.size() != columns) {
    object.Fail("input_ranges", fmt::format("has {} ranges, expected {}",
                                            inputs.size(), columns));
  }
  const Range target = ReadRange(
      object, "target_range", object.Get<std::vector<double>>("target_range"));
  std::vector<DenseLayer> layers;
  auto width = static_cast<Eigen::Index>(columns);
  for (JsonObject& layer : object.Objects("layers")) {
    layers.push_back(ReadLayer(layer, width));
    width = layers.back().bias.size();
  }
  if (layers.empty() || width != 1) {
    object.Fail("layers", fmt::format("end in {} numbers, expected 1", width));
  }
  object.Finish();
  return std::make_unique<NetworkModel>(std::move(layers), std::move(inputs),
                                        target);
}

}  // namespace foretell::surrogate
