#include "frontends/exported/tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "foretell/error.h"
#include "frontends/exported/sizes.h"
#include "frontends/shared/random_weight.h"

namespace foretell::exported {
namespace {

/// The reader has ensured that weights have fixed sizes.
std::vector<std::int64_t> ShapeOf(const ModelInput& input) {
  std::vector<std::int64_t> shape;
  for (const Size& size : input.tensor.sizes) shape.push_back(*size.example);
  return shape;
}

std::int64_t ElementsOf(const ModelInput& input) {
  return TensorType{ToDType(input.tensor.type), ShapeOf(input)}.NumElements();
}

/// Value of a constant that is a single number.
at::Tensor NumberOf(const ModelInput& input, const Archive& archive) {
  at::Tensor number =
      at::zeros({}, at::TensorOptions().dtype(input.tensor.type));
  const auto content = archive.numbers.find(input.name);
  if (content != archive.numbers.end() &&
      content->second.size() >= number.itemsize()) {
    std::memcpy(number.mutable_data_ptr(), content->second.data(),
                number.itemsize());
  }
  return number;
}

/// Whether the graph copies into its input number `index`, as a decoder that
/// notes its position does. Such an input is a state on the device, not a
/// number of the file on which sizes depend.
bool IsState(const Graph& graph, std::size_t index) {
  const auto* const place = std::get_if<Slot>(&graph.inputs[index].value);
  if (place == nullptr) return false;
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (!node.target.starts_with("torch.ops.aten.copy_.") ||
        node.inputs.empty()) {
      return false;
    }
    const auto* const written = std::get_if<Slot>(&node.inputs.front().value);
    return written != nullptr && written->index == place->index;
  });
}

class TensorMaker {
 public:
  TensorMaker(const Archive& archive, const InstanceOptions& options)
      : archive_(archive), options_(options) {}

  /// Sets by_input[i] of `tensors`.
  void Make(const Model& model, std::size_t i, ModelTensors& tensors) const {
    const ModelInput& input = model.inputs[i];
    std::optional<at::Tensor>& place = tensors.by_input[i];
    switch (input.kind) {
      case InputKind::kParameter:
        place = Parameter(input);
        tensors.parameters.push_back({input.name, *place});
        return;
      case InputKind::kConstant:
        if (input.tensor.sizes.empty() && !IsState(model.graph, i)) {
          place = NumberOf(input, archive_);
          return;
        }
        [[fallthrough]];
      case InputKind::kBuffer:
        place = RandomWeight(ShapeOf(input), input.tensor.type, options_);
        tensors.buffers.push_back({input.name, *place});
        return;
      default:
        return;
    }
  }

 private:
  at::Tensor Parameter(const ModelInput& input) const {
    at::Tensor tensor =
        RandomWeight(ShapeOf(input), input.tensor.type, options_);
    const bool trains = input.tensor.requires_grad &&
                        (at::isFloatingType(tensor.scalar_type()) ||
                         at::isComplexType(tensor.scalar_type()));
    tensor.set_requires_grad(trains);
    return tensor;
  }

  const Archive& archive_;
  const InstanceOptions& options_;
};

}  // namespace

std::int64_t ParameterElements(const Model& model) {
  std::int64_t elements = 0;
  for (const ModelInput& input : model.inputs) {
    if (input.kind == InputKind::kParameter && input.same_as < 0) {
      elements += ElementsOf(input);
    }
  }
  return elements;
}

std::map<DType, std::int64_t> WeightElements(const Model& model) {
  std::map<DType, std::int64_t> elements;
  for (const ModelInput& input : model.inputs) {
    const at::ScalarType type = input.tensor.type;
    const bool is_small = (type == at::kChar || type == at::kByte) &&
                          input.tensor.sizes.size() >= 2;
    const bool is_weight =
        (input.kind == InputKind::kParameter && input.same_as < 0) ||
        (input.kind == InputKind::kBuffer && is_small);
    if (is_weight) elements[ToDType(type)] += ElementsOf(input);
  }
  return elements;
}

ModelTensors MakeTensors(const Model& model, const Archive& archive,
                         const InstanceOptions& options) {
  ModelTensors tensors;
  tensors.by_input.resize(model.inputs.size());
  const TensorMaker maker(archive, options);
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    if (model.inputs[i].same_as < 0) maker.Make(model, i, tensors);
  }
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const int same = model.inputs[i].same_as;
    if (same < 0) continue;
    tensors.by_input[i] = tensors.by_input[static_cast<std::size_t>(same)];
  }
  return tensors;
}

}  // namespace foretell::exported
