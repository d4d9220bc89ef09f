// unbind(x, axis) is exported as Split into parts of one, each squeezed.
//
// Views cost no memory, but eager PyTorch runs one operator here and not one
// plus the number of parts; vision transformers take q, k and v apart this way.

#include <string>

#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {
namespace {

/// True when the Split gives each output one element, by attribute (below
/// version 13) or input.
bool SplitsIntoOnes(const Body& body, const Node& split) {
  const std::vector<std::int64_t> ones(split.outputs.size(), 1);
  const Attribute* attribute = split.FindAttribute("split");
  if (attribute != nullptr) return attribute->ints == ones;
  return split.inputs.size() == 2 && IntegersOf(body, split.inputs[1]) == ones;
}

bool SqueezesOnly(const Body& body, const Node& squeeze, std::int64_t axis) {
  return AxesOf(body, squeeze) == std::vector<std::int64_t>{axis};
}

}  // namespace

std::optional<Replacement> FuseUnbind(Match match) {
  const Body& body = match.body();
  const Node& split = match.last();
  const std::int64_t axis = IntOf(split, "axis", 0);
  if (!SplitsIntoOnes(body, split)) return std::nullopt;
  std::vector<std::string> parts;
  for (const std::string& output : split.outputs) {
    const Node* squeeze = body.SoleReaderOf(output);
    if (squeeze == nullptr || !squeeze->domain.empty() ||
        squeeze->op_type != "Squeeze" || squeeze->inputs[0] != output ||
        squeeze->outputs.size() != 1 || !SqueezesOnly(body, *squeeze, axis)) {
      return std::nullopt;
    }
    match.Absorb(squeeze);
    parts.push_back(squeeze->outputs[0]);
  }
  Replacement unbind =
      match.By("Unbind", {split.inputs[0]}, {MakeInt("axis", axis)});
  unbind.node.outputs = std::move(parts);
  return unbind;
}

}  // namespace foretell::onnx
