#include "frontends/exported/higher_order.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

#include "frontends/exported/checkpoint.h"
#include "frontends/exported/interpreter.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/program/autocast.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

/// The graph number `index`; Take gives the value. Error(kCorrupt) if it is
/// missing.
const Graph& GraphOf(const HigherOrderCall& call, std::size_t index) {
  if (index < call.graphs.size()) return *call.graphs[index];
  throw Corrupt("lacks its graph number {}", index);
}

c10::IValue Take(HigherOrderCall& call, std::size_t index) {
  if (index < call.values.size()) return std::move(call.values[index]);
  throw Corrupt("lacks its argument number {}", index);
}

bool TakeFlag(HigherOrderCall& call, std::size_t index) {
  const c10::IValue value = Take(call, index);
  if (value.isBool()) return value.toBool();
  throw Corrupt("argument number {} is not a flag", index);
}

/// Elements of the list that is argument number `index`; none if it is missing.
Values TakeList(HigherOrderCall& call, std::size_t index) {
  if (index >= call.values.size()) return {};
  const c10::IValue value = Take(call, index);
  if (value.isNone()) return {};
  if (!value.isList()) {
    throw Corrupt("argument number {} is not a list", index);
  }
  return value.toListRef().vec();
}

/// The arguments starting at number `first`.
Values TakeRest(HigherOrderCall& call, std::size_t first) {
  Values rest;
  for (std::size_t i = first; i < call.values.size(); ++i) {
    rest.push_back(std::move(call.values[i]));
  }
  call.values.clear();
  return rest;
}

void Append(Values& values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
}

/// Truth of a number, or of a tensor that has values.
bool IsTrue(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt() != 0;
  if (value.isTensor() && value.toTensor().defined()) {
    if (!value.toTensor().is_meta()) return value.toTensor().item().toBool();
    throw Unsupported(
        "depends on the content of a tensor, which a trace without arithmetic "
        "does not have; use --trace cpu");
  }
  throw Corrupt("depends on a value that is not a number");
}

Values WithGradMode(Interpreter& interpreter, HigherOrderCall call) {
  const at::AutoGradMode mode(TakeFlag(call, 0));
  const Graph& graph = GraphOf(call, 0);
  return interpreter.Run(graph, TakeRest(call, 1));
}

/// Autocast for any device is treated as autocast for the device of the run.
Values WithAutocast(Interpreter& interpreter, HigherOrderCall call) {
  const c10::IValue dtype = Take(call, 1);
  const bool enabled = TakeFlag(call, 2);
  const Graph& graph = GraphOf(call, 0);
  Values operands = TakeRest(call, 4);
  if (!enabled) {
    const AutocastPause pause;
    return interpreter.Run(graph, std::move(operands));
  }
  constexpr auto kF16 = static_cast<std::int64_t>(at::kHalf);
  constexpr auto kBf16 = static_cast<std::int64_t>(at::kBFloat16);
  const std::int64_t code = dtype.isInt() ? dtype.toInt() : kF16;
  if (code != kF16 && code != kBf16) {
    throw Unsupported(
        "autocast to element type {}, expected f16 ({}) or bf16 ({})", code,
        kF16, kBf16);
  }
  const auto type = static_cast<at::ScalarType>(code);
  const AutocastRegion region(interpreter.device(), {type});
  return interpreter.Run(graph, std::move(operands));
}

Values Cond(Interpreter& interpreter, HigherOrderCall call) {
  const bool holds = IsTrue(Take(call, 0));
  const Graph& graph = GraphOf(call, holds ? 0 : 1);
  Values operands = TakeList(call, 1);
  call.values.clear();
  return interpreter.Run(graph, std::move(operands));
}

/// Whether a loop goes on; its condition is not differentiated.
bool Holds(Interpreter& interpreter, const Graph& condition, Values operands) {
  const at::AutoGradMode mode(false);
  const Values holds = interpreter.Run(condition, std::move(operands));
  return !holds.empty() && IsTrue(holds.front());
}

/// As in PyTorch's autograd, an iteration keeps its inputs and is computed
/// again in the backward pass. PyTorch stacks what the iterations carry; here
/// each is kept on its own, of the same size.
Values WhileLoop(Interpreter& interpreter, HigherOrderCall call) {
  const Graph& condition = GraphOf(call, 0);
  GraphOf(call, 1);
  Values carried = TakeList(call, 0);
  const Values additional = TakeList(call, 1);
  while (true) {
    Values operands = carried;
    Append(operands, additional);
    if (!Holds(interpreter, condition, operands)) return carried;
    carried.clear();
    carried = RunCheckpointed(interpreter, call.graphs[1], std::move(operands));
  }
}

/// Common length of all sequences; Error(kCorrupt) for none, or two lengths.
std::int64_t LengthOf(const Values& sequences) {
  std::optional<std::int64_t> length;
  for (const c10::IValue& sequence : sequences) {
    if (!sequence.isTensor() || sequence.toTensor().dim() == 0) {
      throw Corrupt("expects a sequence");
    }
    const std::int64_t other = sequence.toTensor().size(0);
    if (length.value_or(other) != other) {
      throw Corrupt("got sequences of {} and {}", *length,
                    Counted(other, "element"));
    }
    length = other;
  }
  if (length) return *length;
  throw Corrupt("got no sequence");
}

Values ElementsAt(const Values& sequences, std::int64_t index) {
  Values elements;
  for (const c10::IValue& sequence : sequences) {
    elements.emplace_back(sequence.toTensor().select(0, index));
  }
  return elements;
}

/// Carries values from element to element and collects the others, which
/// PyTorch writes into tensors that it makes after the first step.
Values Scan(Interpreter& interpreter, HigherOrderCall call) {
  const Graph& step = GraphOf(call, 0);
  Values carried = TakeList(call, 0);
  const Values sequences = TakeList(call, 1);
  const Values additional = TakeList(call, 2);
  const std::size_t num_carried = carried.size();
  const std::int64_t length = LengthOf(sequences);
  std::vector<at::Tensor> collected;
  for (std::int64_t i = 0; i < length; ++i) {
    Values operands = std::move(carried);
    Append(operands, ElementsAt(sequences, i));
    Append(operands, additional);
    Values results = interpreter.Run(step, std::move(operands));
    for (std::size_t k = num_carried; k < results.size(); ++k) {
      const at::Tensor result = results[k].toTensor();
      if (i == 0) {
        std::vector<std::int64_t> shape = result.sizes().vec();
        shape.insert(shape.begin(), length);
        collected.push_back(at::empty(shape, result.options()));
      }
      collected[k - num_carried].select(0, i).copy_(result);
    }
    results.resize(num_carried);
    carried = std::move(results);
  }
  for (at::Tensor& tensor : collected) carried.emplace_back(std::move(tensor));
  return carried;
}

/// The elements of each sequence, as views of it.
std::vector<std::vector<at::Tensor>> Unstack(const Values& sequences) {
  std::vector<std::vector<at::Tensor>> elements;
  for (const c10::IValue& sequence : sequences) {
    elements.push_back(at::unbind(sequence.toTensor()));
  }
  return elements;
}

/// Runs a graph on every element of sequences and stacks what it gives. The
/// backward pass computes each element again, as PyTorch's does.
Values Map(Interpreter& interpreter, HigherOrderCall call) {
  GraphOf(call, 0);
  const Values sequences = TakeList(call, 0);
  const Values additional = TakeList(call, 1);
  const std::int64_t length = LengthOf(sequences);
  const auto elements = Unstack(sequences);
  std::vector<std::vector<at::Tensor>> collected;
  for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
    Values operands;
    for (const auto& tensors : elements) operands.emplace_back(tensors.at(i));
    Append(operands, additional);
    const Values results =
        RunCheckpointed(interpreter, call.graphs.front(), std::move(operands));
    collected.resize(results.size());
    for (std::size_t k = 0; k < results.size(); ++k) {
      collected[k].push_back(results[k].toTensor());
    }
  }
  Values stacked;
  for (const auto& tensors : collected)
    stacked.emplace_back(at::stack(tensors));
  return stacked;
}

Values Checkpoint(Interpreter& interpreter, HigherOrderCall call) {
  GraphOf(call, 0);
  Values operands = TakeRest(call, 0);
  return RunCheckpointed(interpreter, call.graphs.front(), std::move(operands));
}

Values Inline(Interpreter& interpreter, HigherOrderCall call) {
  const Graph& graph = GraphOf(call, 0);
  return interpreter.Run(graph, TakeRest(call, 0));
}

/// As Inline with a name before the operands.
Values InlineNamed(Interpreter& interpreter, HigherOrderCall call) {
  const Graph& graph = GraphOf(call, 0);
  return interpreter.Run(graph, TakeRest(call, 1));
}

/// As Inline with the operands in one list.
Values InlineList(Interpreter& interpreter, HigherOrderCall call) {
  const Graph& graph = GraphOf(call, 0);
  Values operands = TakeList(call, 0);
  call.values.clear();
  return interpreter.Run(graph, std::move(operands));
}

struct HigherOrderRow {
  std::string_view name;
  Values (*call)(Interpreter&, HigherOrderCall);
};

constexpr HigherOrderRow kHigherOrderRows[] = {
    {"cond", &Cond},
    {"hints_wrapper", &InlineList},
    {"invoke_subgraph", &InlineNamed},
    {"map_impl", &Map},
    {"scan", &Scan},
    {"strict_mode", &InlineList},
    {"tag_activation_checkpoint", &Checkpoint},
    {"while_loop", &WhileLoop},
    {"wrap", &Inline},
    {"wrap_activation_checkpoint", &Checkpoint},
    {"wrap_with_autocast", &WithAutocast},
    {"wrap_with_set_grad_enabled", &WithGradMode},
};

const HigherOrderRow* Find(std::string_view target) {
  constexpr std::string_view kBegin = "torch.ops.higher_order.";
  if (!target.starts_with(kBegin)) return nullptr;
  target.remove_prefix(kBegin.size());
  for (const HigherOrderRow& row : kHigherOrderRows) {
    if (row.name == target) return &row;
  }
  return nullptr;
}

}  // namespace

bool IsKnownHigherOrder(std::string_view target) {
  return Find(target) != nullptr;
}

Values CallHigherOrder(Interpreter& interpreter, HigherOrderCall call) {
  const Node& node = *call.node;
  const HigherOrderRow* row = Find(node.target);
  if (row == nullptr) throw Unsupported("{} is not known", node.target);
  return row->call(interpreter, std::move(call));
}

}  // namespace foretell::exported
