#include "frontends/exported/interpreter.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "frontends/exported/higher_order.h"
#include "frontends/exported/number_operators.h"
#include "frontends/exported/quantized_operators.h"
#include "frontends/exported/vmap_operators.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

/// Value of a constant, a slot or a list of them.
c10::IValue Evaluate(const Argument& argument, const Values& frame) {
  if (const auto* constant = std::get_if<c10::IValue>(&argument.value)) {
    return *constant;
  }
  if (const auto* slot = std::get_if<Slot>(&argument.value)) {
    return frame[static_cast<std::size_t>(slot->index)];
  }
  const auto* list = std::get_if<std::vector<Argument>>(&argument.value);
  if (list == nullptr) {
    throw Corrupt("takes no graph");
  }
  c10::impl::GenericList values(c10::AnyType::get());
  values.reserve(list->size());
  for (const Argument& element : *list) {
    values.push_back(Evaluate(element, frame));
  }
  return values;
}

void Store(const Argument& place, c10::IValue value, Values& frame) {
  if (const auto* slot = std::get_if<Slot>(&place.value)) {
    if (slot->index == kUnused) return;
    frame[static_cast<std::size_t>(slot->index)] = std::move(value);
  } else if (const auto* list =
                 std::get_if<std::vector<Argument>>(&place.value)) {
    if (!value.isList() || value.toListRef().size() < list->size()) {
      throw Corrupt(
          "expected {} results as a list, but the operator returns none",
          list->size());
    }
    const Values elements = value.toListRef().vec();
    value = {};
    for (std::size_t i = 0; i < list->size(); ++i) {
      Store((*list)[i], elements[i], frame);
    }
  }
}

void Release(const std::vector<int>& slots, Values& frame) {
  for (const int slot : slots) frame[static_cast<std::size_t>(slot)] = {};
}

/// Checks of the assumptions of an export, which have no kernel.
bool IsCheck(std::string_view target) {
  constexpr std::string_view kChecks[] = {
      "torch.ops.aten._assert_scalar", "torch.ops.aten._assert_async",
      "torch.ops.aten._assert_tensor_metadata",
      "torch.ops.aten._functional_assert_async",
      "torch.ops.aten.sym_constrain_range"};
  for (const std::string_view check : kChecks) {
    if (target.starts_with(check)) return true;
  }
  return false;
}

/// A check on known numbers is evaluated, as torch._check does.
void RequireHolds(const Node& node, const Values& frame) {
  constexpr std::string_view kAssert = "torch.ops.aten._assert_scalar";
  if (!node.target.starts_with(kAssert) || node.inputs.empty()) return;
  const c10::IValue value = Evaluate(node.inputs.front(), frame);
  if (!value.isScalar() || value.toScalar().toComplexDouble() != 0.0) return;
  std::string what = "a condition on sizes or contents";
  if (node.inputs.size() > 1) {
    const c10::IValue text = Evaluate(node.inputs[1], frame);
    if (text.isString()) what = text.toStringRef();
  }
  throw InvalidArgument("the file's own check fails: {}", what);
}

/// torch.export turns cuDNN off while it records; runs of the network use it.
bool IsCudnnSwitch(const Argument& input) {
  return input.name == "cudnn_enabled" || input.name == "cudnn_enable";
}

/// Results are one IValue each; `outputs` names what is stored of them.
void StoreResults(const Node& node, Values results, Values& frame) {
  if (results.size() < node.outputs.size()) {
    throw Corrupt("has {} results, the file names {}", results.size(),
                  node.outputs.size());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Store(node.outputs[i], std::move(results[i]), frame);
  }
}

}  // namespace

Values Interpreter::Run(const Graph& graph, Values inputs) {
  Count();
  if (inputs.size() != graph.inputs.size()) {
    throw Corrupt("a graph expects {}, got {}",
                  Counted(graph.inputs.size(), "value"), inputs.size());
  }
  Frame frame(static_cast<std::size_t>(graph.num_slots));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Store(graph.inputs[i], std::move(inputs[i]), frame);
  }
  inputs.clear();
  Release(graph.unread, frame);
  const VmapScope ends_vmaps;
  const Node* const outer = current_;
  for (const Node& node : graph.nodes) {
    current_ = &node;
    try {
      RunNode(node, frame);
    } catch (...) {
      if (failed_ == nullptr) failed_ = &node;
      throw;
    }
  }
  current_ = outer;
  Values results;
  for (const Argument& output : graph.outputs) {
    results.push_back(Evaluate(output, frame));
  }
  return results;
}

void Interpreter::Count() {
  if (++calls_ <= kMostCalls) return;
  throw Unsupported(
      "runs more than {} operators and graphs: a loop in it does not end",
      kMostCalls);
}

void Interpreter::RunNode(const Node& node, Frame& frame) {
  Count();
  Release(node.forgotten, frame);
  if (mode_.Skips(node)) return Release(node.dies, frame);
  if (IsCheck(node.target)) {
    RequireHolds(node, frame);
    return Release(node.dies, frame);
  }
  StoreResults(node, Call(node, frame), frame);
}

Values Interpreter::Call(const Node& node, Frame& frame) {
  if (node.target.starts_with("torch.ops.higher_order.")) {
    return CallGraphs(node, frame);
  }
  if (node.target.starts_with("torch.ops.")) return CallTensors(node, frame);
  return CallPython(node, frame);
}

Values Interpreter::CallPython(const Node& node, Frame& frame) {
  Values operands;
  for (const Argument& input : node.inputs) {
    operands.push_back(Evaluate(input, frame));
  }
  Release(node.dies, frame);
  if (IsVmapOperator(node.target)) {
    return CallVmapOperator(node.target, operands);
  }
  const NumberOperator function = FindNumberOperator(node.target);
  if (function == nullptr) {
    throw Unsupported("{} is not known", node.target);
  }
  return {function(operands)};
}

Values Interpreter::CallTensors(const Node& node, Frame& frame) {
  const bool is_quantized = IsQuantizedOperator(node.target);
  const std::optional<c10::OperatorHandle> op = FindOperator(node.target);
  if (!op && !is_quantized) {
    throw Unsupported("{} is not known", node.target);
  }
  NamedValues values;
  for (const Argument& input : node.inputs) {
    c10::IValue value = states_.Apply(
        node, input, mode_.Apply(node, input, Evaluate(input, frame)));
    if (IsCudnnSwitch(input)) value = true;
    values.emplace_back(input.name, std::move(value));
  }
  Release(node.dies, frame);
  if (types_) ChangeType(values);
  if (is_quantized) return CallQuantizedOperator(node.target, values);
  return CallOperator(*op, std::move(values), device_);
}

void Interpreter::ChangeType(NamedValues& values) const {
  const bool reads_floats = std::ranges::any_of(values, [](const auto& one) {
    return one.second.isTensor() &&
           at::isFloatingType(one.second.toTensor().scalar_type());
  });
  // `x.float()` asks for f32; `x.to(y.dtype)` of a file in 16 bits does not.
  if (reads_floats && types_->from == at::kFloat) return;
  for (auto& [name, value] : values) {
    if (name == "dtype" && value.isInt() &&
        value.toInt() == static_cast<std::int64_t>(types_->from)) {
      value = static_cast<std::int64_t>(types_->to);
    }
  }
}

Values Interpreter::CallGraphs(const Node& node, Frame& frame) {
  HigherOrderCall call{.node = &node};
  for (const Argument& input : node.inputs) {
    if (const auto* graph =
            std::get_if<std::shared_ptr<const Graph>>(&input.value)) {
      call.graphs.push_back(*graph);
    } else if (input.name.empty()) {
      call.values.push_back(Evaluate(input, frame));
    }
  }
  Release(node.dies, frame);
  Values results = CallHigherOrder(*this, std::move(call));
  current_ = &node;
  return results;
}

}  // namespace foretell::exported
