#include "src/kernels/composite_steps.h"

#include <fmt/core.h>

#include <algorithm>

namespace foretell::cost {

namespace {

/// cuDNN multiplies f32 in TF32, as in convolutions
/// (torch.backends.cudnn.allow_tf32).
GraphInfo InfoOfCudnn(GraphInfo info) {
  info.precision = Precision::kTf32;
  return info;
}

}  // namespace

CompositeSteps::CompositeSteps(const Expansion& outer,
                               const ExpandedNode& expanded)
    : outer_(outer),
      expanded_(expanded),
      builder_(InfoOfCudnn(outer.graph.info())) {}

std::string CompositeSteps::NameOf(std::size_t number) const {
  return fmt::format("{}/{}", outer_.graph.value(expanded_.result()).name,
                     number);
}

ValueId CompositeSteps::AddSource(ValueId id) {
  const Value& value = outer_.graph.value(id);
  const TensorType& type = value.type;
  const TensorRole role = outer_.tensors.IsWeight(id) ? TensorRole::kParameter
                                                      : TensorRole::kActivation;
  const StorageId storage = builder_.AddStorage(
      outer_.tensors.Elements(id) * ByteWidth(type.dtype), role);
  return builder_.AddSource(NameOf(num_values_++), type, storage,
                            value.strides);
}

ValueId CompositeSteps::Operand(std::size_t index) {
  const ValueId id = node().inputs.at(index);
  const auto known = sources_.find(id);
  if (known != sources_.end()) return known->second;
  const ValueId source = AddSource(id);
  sources_.emplace(id, source);
  return source;
}

const TensorType& CompositeSteps::result() const {
  return outer_.graph.value(expanded_.result()).type;
}

std::int64_t CompositeSteps::Size(ValueId id, std::int64_t dim) const {
  const Shape& shape = builder_.value(id).type.shape;
  const std::int64_t counted = dim < 0 ? dim + std::ssize(shape) : dim;
  const bool exists = counted >= 0 && counted < std::ssize(shape);
  return exists ? shape[static_cast<std::size_t>(counted)] : 1;
}

NodeId CompositeSteps::AddNode(std::string target,
                               std::vector<ValueId> operands,
                               Attributes attributes) {
  repeats_.push_back(times_);
  return builder_.AddNode({.target = std::move(target),
                           .inputs = std::move(operands),
                           .attributes = std::move(attributes)});
}

ValueId CompositeSteps::AddResult(NodeId node, TensorType type,
                                  StorageId storage, Strides strides) {
  return builder_.AddResult(node, NameOf(num_values_++), std::move(type),
                            storage, std::move(strides));
}

ValueId CompositeSteps::Call(std::string target, std::vector<ValueId> operands,
                             Shape shape, Attributes attributes,
                             Strides strides) {
  TensorType type = {
      operands.empty() ? result().dtype : TypeOf(operands.front()),
      std::move(shape)};
  const NodeId node =
      AddNode(std::move(target), std::move(operands), std::move(attributes));
  const StorageId storage =
      builder_.AddStorage(type.Bytes(), TensorRole::kActivation);
  return AddResult(node, std::move(type), storage, std::move(strides));
}

ValueId CompositeSteps::AlsoReturns(Shape shape) {
  const auto last = static_cast<ValueId>(num_values_ - 1);
  TensorType type = {TypeOf(last), std::move(shape)};
  const StorageId storage =
      builder_.AddStorage(type.Bytes(), TensorRole::kActivation);
  return AddResult(builder_.value(last).producer, std::move(type), storage);
}

ValueId CompositeSteps::View(std::string target, ValueId operand, Shape shape,
                             std::optional<Strides> strides) {
  if (!strides) return Call(std::move(target), {operand}, std::move(shape));
  TensorType type = {TypeOf(operand), std::move(shape)};
  const StorageId storage = builder_.value(operand).storage;
  const NodeId node = AddNode(std::move(target), {operand}, {});
  return AddResult(node, std::move(type), storage, *std::move(strides));
}

ValueId CompositeSteps::Memory(Shape shape, DType dtype) {
  const TensorType type = {dtype, std::move(shape)};
  const StorageId storage =
      builder_.AddStorage(type.Bytes(), TensorRole::kActivation);
  return builder_.AddSource(NameOf(num_values_++), type, storage);
}

bool CompositeSteps::ReturnsFit() const {
  const std::vector<ValueId>& outputs = node().outputs;
  if (returned_.empty() || returned_.size() > outputs.size()) return false;
  for (std::size_t i = 0; i < returned_.size(); ++i) {
    if (ShapeOf(returned_[i]) != outer_.tensors.ShapeOf(outputs[i])) {
      return false;
    }
  }
  return true;
}

void CompositeSteps::Emit(Expansion& outer) {
  for (const auto& [from, to] : sources_) builder_.MarkInput(to);
  builder_.DeriveLifetimes();
  const OperatorGraph graph = builder_.Build();
  Expansion inner(graph, outer.mode);
  ExpandNodes(inner);
  for (Kernel kernel : inner.kernels) {
    const std::int64_t times = repeats_[static_cast<std::size_t>(kernel.node)];
    kernel.count *= times;
    kernel.repeated = times > 1;
    kernel.node = expanded_.id;
    if (kernel.count > 0) outer.kernels.push_back(kernel);
  }
}

}  // namespace foretell::cost
