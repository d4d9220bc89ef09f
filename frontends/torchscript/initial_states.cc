// States of recurrent layers in the type of a run. A tracer writes the type of
// the states that a layer made down as a number; scripted code computes it.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "frontends/shared/initial_states.h"
#include "frontends/torchscript/passes.h"
#include "frontends/torchscript/rewriting.h"

namespace foretell::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Value;

std::optional<std::size_t> PlaceOf(const Node& node, std::string_view name) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return std::nullopt;
  const auto place = schema->argumentIndexWithName(name);
  if (!place) return std::nullopt;
  return static_cast<std::size_t>(*place);
}

void MakeAs(Node& maker, Precision precision) {
  if (maker.kind().toQualString() != kStateMaker) return;
  const std::optional<std::size_t> place = PlaceOf(maker, kMadeType);
  if (!place) return;
  const std::optional<c10::IValue> code = ConstantOf(*maker.input(*place));
  if (!code || !code->isInt()) return;
  const auto type = static_cast<at::ScalarType>(code->toInt());
  const torch::jit::WithInsertPoint before(&maker);
  maker.replaceInput(*place,
                     maker.owningGraph()->insertConstant(
                         static_cast<std::int64_t>(StoredAs(type, precision))));
}

}  // namespace

void MakeStatesAs(const torch::jit::Module& module, Precision precision) {
  ForEachNode(module, [&](Node& node) {
    const std::optional<std::size_t> place = PlaceOf(node, kStates);
    if (!place) return;
    Node& states = *node.input(*place)->node();
    if (states.kind() != c10::prim::ListConstruct) {
      return MakeAs(states, precision);
    }
    for (Value* const state : states.inputs()) {
      MakeAs(*state->node(), precision);
    }
  });
}

}  // namespace foretell::torchscript
