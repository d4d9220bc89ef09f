#include "tests/frontends/onnx_fusion/model_builder.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <utility>
#include <variant>

#include "foretell/trace.h"
#include "frontends/onnx/evaluator.h"
#include "frontends/onnx/fusion/fuse.h"
#include "frontends/onnx/onnx_program.h"
#include "tests/frontends/onnx_pieces.h"

namespace foretell::onnx {
namespace {

constexpr double kTolerance = 1e-4;

ValueInfo ToInput(std::string name, const std::vector<std::int64_t>& shape,
                  std::int32_t type) {
  std::vector<Dim> dims;
  for (const std::int64_t size : shape) dims.push_back(Fixed(size));
  ValueInfo info = FloatValue(std::move(name), std::move(dims));
  info.type.elem_type = type;
  return info;
}

at::Tensor RandomInput(const ValueInfo& info, at::Generator& generator) {
  std::vector<std::int64_t> shape;
  for (const Dim& dim : *info.type.shape) shape.push_back(*dim.value);
  if (info.type.elem_type == kOnnxBool) {
    return at::rand(shape, generator).gt(0.4);
  }
  return at::randn(shape, generator);
}

}  // namespace

ModelBuilder::ModelBuilder(std::int64_t opset) {
  model_.path = "test.onnx";
  model_.ir_version = 10;
  model_.opset_imports = {{"", opset}};
}

std::string ModelBuilder::Input(std::vector<std::int64_t> shape) {
  const std::string name = "x" + std::to_string(next_++);
  model_.graph.inputs.push_back(ToInput(name, shape, kOnnxFloat));
  return name;
}

std::string ModelBuilder::BoolInput(std::vector<std::int64_t> shape) {
  const std::string name = "x" + std::to_string(next_++);
  model_.graph.inputs.push_back(ToInput(name, shape, kOnnxBool));
  return name;
}

std::string ModelBuilder::Weight(const at::Tensor& values) {
  const std::string name = "c" + std::to_string(next_++);
  model_.graph.initializers.push_back(LiteralOf(name, values));
  return name;
}

std::string ModelBuilder::RandomWeight(std::vector<std::int64_t> shape) {
  at::Generator generator =
      at::detail::createCPUGenerator(static_cast<std::uint64_t>(100 + next_));
  return Weight(at::randn(shape, generator));
}

std::string ModelBuilder::Number(double value) {
  return Weight(at::tensor(static_cast<float>(value)));
}

std::string ModelBuilder::Integers(std::vector<std::int64_t> values) {
  return Weight(at::tensor(values, at::kLong));
}

std::string ModelBuilder::Op(std::string op_type,
                             std::vector<std::string> inputs,
                             std::vector<Attribute> attributes) {
  Node node;
  node.name = op_type + std::to_string(next_);
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.outputs = {"v" + std::to_string(next_++)};
  model_.graph.nodes.push_back(std::move(node));
  return model_.graph.nodes.back().outputs.front();
}

void ModelBuilder::Output(const std::string& name) {
  model_.graph.outputs.push_back({name, {}});
}

std::vector<std::string> Rewritten(const Model& model, Fusion setting) {
  std::vector<std::string> names;
  for (const Node& node : RecogniseFusedPatterns(model, setting).graph.nodes) {
    names.push_back((node.domain.empty() ? "" : node.domain + ".") +
                    node.op_type);
  }
  return names;
}

std::vector<std::string> Fused(const Model& model, Fusion setting) {
  std::vector<std::string> names;
  for (const Node& node : RecogniseFusedPatterns(model, setting).graph.nodes) {
    if (node.domain == "foretell") names.push_back(node.op_type);
  }
  return names;
}

std::vector<std::string> TracedOperators(const Model& model) {
  const Program program = MakeProgram(model);
  const Trace trace =
      TraceProgram(program, BindInputs(program.inputs(), {}, program.name()));
  std::vector<std::string> targets;
  for (const foretell::Node& node : trace.graph.nodes()) {
    targets.push_back(node.target);
  }
  return targets;
}

std::vector<at::Tensor> Run(const Model& model) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(7);
  std::vector<Value> inputs;
  for (const ValueInfo& info : model.graph.inputs) {
    inputs.emplace_back(RandomInput(info, generator));
  }
  Evaluator evaluator(model, {.device = at::Device(at::kCPU)});
  std::vector<at::Tensor> outputs;
  for (Value& value : evaluator.Run(std::move(inputs))) {
    outputs.push_back(std::get<at::Tensor>(value));
  }
  return outputs;
}

bool ComputesTheSame(const Model& model, Fusion setting) {
  const std::vector<at::Tensor> expected = Run(model);
  const std::vector<at::Tensor> actual =
      Run(RecogniseFusedPatterns(model, setting));
  if (expected.empty() || expected.size() != actual.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].sizes() != actual[i].sizes() ||
        !at::allclose(actual[i], expected[i], kTolerance, kTolerance)) {
      return false;
    }
  }
  return true;
}

}  // namespace foretell::onnx
