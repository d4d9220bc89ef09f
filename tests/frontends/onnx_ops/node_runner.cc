#include "tests/frontends/onnx_ops/node_runner.h"

#include <ATen/core/grad_mode.h>

#include <utility>
#include <variant>

#include "foretell/program.h"
#include "foretell/trace.h"
#include "frontends/onnx/evaluator.h"
#include "frontends/onnx/onnx_program.h"

namespace foretell::onnx {
namespace {

std::string InputName(size_t i) { return "x" + std::to_string(i); }

ValueInfo FloatInput(size_t i, const std::vector<std::int64_t>& shape) {
  std::vector<Dim> dims;
  for (const std::int64_t size : shape) dims.push_back(Fixed(size));
  return FloatValue(InputName(i), std::move(dims));
}

/// A model of the node alone; `is_given` says which of its inputs exist beside
/// the constants.
Model ModelOf(const NodeCase& spec, const std::vector<bool>& is_given) {
  Model model;
  model.path = "test.onnx";
  model.ir_version = 10;
  model.opset_imports = {{"", 22}};
  model.opset_imports[spec.domain] = spec.opset;
  Node node;
  node.name = "node";
  node.op_type = spec.op_type;
  node.domain = spec.domain;
  node.attributes = spec.attributes;
  size_t next = 0;
  for (size_t i = 0; next < is_given.size() || spec.constants.contains(i);
       ++i) {
    const auto constant = spec.constants.find(i);
    const bool exists = constant != spec.constants.end() || is_given[next];
    node.inputs.push_back(exists ? InputName(i) : "");
    if (constant != spec.constants.end()) {
      model.graph.initializers.push_back(
          LiteralOf(InputName(i), constant->second));
    } else if (is_given[next++]) {
      model.graph.inputs.push_back(FloatInput(i, {}));
    }
  }
  for (size_t i = 0; i < spec.num_outputs; ++i) {
    const bool is_absent = spec.absent_outputs.contains(i);
    node.outputs.push_back(is_absent ? "" : "y" + std::to_string(i));
    if (!is_absent) model.graph.outputs.push_back({node.outputs.back(), {}});
  }
  model.graph.nodes.push_back(std::move(node));
  return model;
}

}  // namespace

std::vector<at::Tensor> RunNode(const NodeCase& node,
                                const std::vector<at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  std::vector<bool> is_given;
  std::vector<Value> values;
  for (const at::Tensor& input : inputs) {
    is_given.push_back(input.defined());
    if (input.defined()) values.emplace_back(input);
  }
  const Model model = ModelOf(node, is_given);
  Evaluator evaluator(model, {.device = at::Device(at::kCPU)});
  const std::vector<Value> results = evaluator.Run(std::move(values));
  std::vector<at::Tensor> outputs(node.num_outputs);
  size_t next = 0;
  for (size_t i = 0; i < node.num_outputs; ++i) {
    if (node.absent_outputs.contains(i)) continue;
    const auto* tensor = std::get_if<at::Tensor>(&results.at(next++));
    if (tensor != nullptr) outputs[i] = *tensor;
  }
  return outputs;
}

Trace TraceCase(const NodeCase& node,
                const std::vector<std::vector<std::int64_t>>& shapes,
                const TraceOptions& options) {
  Model model = ModelOf(node, std::vector<bool>(shapes.size(), true));
  std::vector<BoundInput> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    ValueInfo& info = model.graph.inputs[i];
    info.type = FloatInput(0, shapes[i]).type;
    inputs.push_back({info.name, {DType::kF32, shapes[i]}});
  }
  return TraceProgram(MakeProgram(std::move(model)), inputs, options);
}

std::vector<std::string> TraceNode(
    const NodeCase& node,
    const std::vector<std::vector<std::int64_t>>& shapes) {
  const Trace trace = TraceCase(node, shapes);
  std::vector<std::string> targets;
  for (const foretell::Node& recorded : trace.graph.nodes()) {
    targets.push_back(recorded.target);
  }
  return targets;
}

}  // namespace foretell::onnx
