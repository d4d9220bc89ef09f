// unbind(x, axis) is exported as Split into parts of one, each squeezed, or by
// the newer exporter as one Slice for each of them.
//
// Views cost no memory, but eager PyTorch runs one operator here instead of one
// plus the number of parts; vision transformers split q, k and v this way.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

/// How far apart an exporter writes the parts, in nodes, with some margin.
constexpr std::size_t kNodesBetween = 64;

/// The axis along which `slice` takes only element `index`; empty optional if
/// it does something else.
std::optional<std::int64_t> AxisOfOne(const Body& body, const Node& slice,
                                      std::int64_t index) {
  const std::optional<SliceRange> range = RangeOf(body, slice);
  if (!range || range->begin != index || range->end != index + 1) {
    return std::nullopt;
  }
  return range->axis;
}

/// The node that does nothing except squeeze `part`; nullptr if there is none.
const Node* SqueezeOf(const Body& body, const std::string& part,
                      std::int64_t axis) {
  const Node* squeeze = body.SoleReaderOf(part);
  const bool fits =
      squeeze != nullptr && squeeze->domain.empty() &&
      squeeze->op_type == "Squeeze" && squeeze->inputs[0] == part &&
      squeeze->outputs.size() == 1 && SqueezesOnly(body, *squeeze, axis);
  return fits ? squeeze : nullptr;
}

}  // namespace

std::optional<Replacement> FuseUnbind(Match match) {
  const Body& body = match.body();
  const Node& split = match.last();
  const std::int64_t axis = IntOf(split, "axis", 0);
  if (!SplitsIntoOnes(body, split)) return std::nullopt;
  std::vector<std::string> parts;
  for (const std::string& output : split.outputs) {
    const Node* squeeze = SqueezeOf(body, output, axis);
    if (squeeze == nullptr) return std::nullopt;
    match.Absorb(squeeze);
    parts.push_back(squeeze->outputs[0]);
  }
  Replacement unbind =
      match.By("Unbind", {split.inputs[0]}, {MakeInt("axis", axis)});
  unbind.node.outputs = std::move(parts);
  return unbind;
}

std::optional<Replacement> FuseSlicedUnbind(Match match) {
  const Body& body = match.body();
  const Node& first = match.last();
  const std::optional<std::int64_t> axis = AxisOfOne(body, first, 0);
  if (!axis) return std::nullopt;
  std::vector<const Node*> slices = {&first};
  for (const Node* node : body.Following(first, kNodesBetween)) {
    const bool reads = node->domain.empty() && node->op_type == "Slice" &&
                       node->inputs[0] == first.inputs[0];
    if (reads && AxisOfOne(body, *node, std::ssize(slices)) == axis) {
      slices.push_back(node);
    }
  }
  if (slices.size() < 2) return std::nullopt;
  std::vector<std::string> parts;
  for (const Node* slice : slices) {
    const Node* squeeze = SqueezeOf(body, slice->outputs[0], *axis);
    if (squeeze == nullptr) return std::nullopt;
    if (slice != &first) match.Absorb(slice);
    match.Absorb(squeeze);
    parts.push_back(squeeze->outputs[0]);
  }
  Replacement unbind =
      match.By("Unbind", {first.inputs[0]},
               {MakeInt("axis", *axis), MakeInt("may_leave_parts", 1)});
  unbind.node.outputs = std::move(parts);
  return unbind;
}

}  // namespace foretell::onnx
