#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/graph/attributes.h"
#include "src/runtime/onnxruntime/passes.h"

// ConvBNFusion, ConvMulFusion and ConvAddFusion (level "basic",
// core/optimizer/conv_{bn,mul,add}_fusion.cc): what follows a convolution and
// is affine by channel goes into its weight and bias, if these are initializers
// and nothing else reads the convolution's result.
//
// PadFusion (pad_fusion.cc): zeros around an image are padding of the
// convolution or max pool that alone reads it. Its attribute stays as it was:
// kernels are described by the shapes of their tensors.
//
// ConvActivationFusion, which makes FusedConv, is not for the CUDA provider any
// more (graph_transformer_utils.cc): its list of providers there has the CPU's
// and others. So activations and residual sums after convolutions keep their
// kernels.

namespace foretell::runtime::ort {
namespace {

/// True for a constant of one number for every channel of an image of `shape`.
bool IsByChannel(const Draft& draft, TensorId id,
                 const std::vector<std::int64_t>& shape) {
  if (!draft.IsConstant(id) || shape.size() < 3) return false;
  std::vector<std::int64_t> own = draft.TypeOf(id).shape;
  if (own.size() == shape.size() && own.front() == 1) own.erase(own.begin());
  return own.size() == shape.size() - 1 && own.front() == shape[1] &&
         std::all_of(own.begin() + 1, own.end(),
                     [](std::int64_t size) { return size == 1; });
}

/// The tensor that `node` gives an affine function by channel of.
std::optional<TensorId> AffineOperand(const Draft& draft,
                                      const DraftNode& node) {
  if (node.kind == OpKind::kBatchNorm && node.outputs.size() == 1) {
    return node.inputs.front();
  }
  const bool is_affine = node.target == "add" || node.target == "mul";
  if (!is_affine || node.inputs.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorId operand = node.inputs[i];
    if (draft.TypeOf(operand) == draft.TypeOf(node.outputs[0]) &&
        IsByChannel(draft, node.inputs[1 - i], draft.TypeOf(operand).shape)) {
      return operand;
    }
  }
  return std::nullopt;
}

/// True for zeros around the positions of an image.
bool PadsPositions(const Draft& draft, const DraftNode& node) {
  if (node.target != "constant_pad_nd" && node.target != "pad") return false;
  const Node recorded = AsNode(node);
  const std::string_view mode = TextOf(recorded, "mode");
  const auto pads = recorded.Ints("pad", {});
  const std::size_t rank = draft.TypeOf(node.outputs[0]).shape.size();
  return (mode.empty() || mode == "constant") &&
         NumberOf(recorded, "value", 0) == 0 && pads.size() / 2 + 2 <= rank &&
         std::ranges::all_of(pads, [](std::int64_t n) { return n >= 0; });
}

void FusePadding(Draft& draft) {
  const Uses uses(draft);
  for (DraftNode& node : draft.nodes) {
    if (node.outputs.size() != 1 || !PadsPositions(draft, node)) continue;
    const std::ptrdiff_t at = uses.SoleReader(node.outputs[0]);
    if (at < 0) continue;
    DraftNode& reader = draft.nodes[static_cast<std::size_t>(at)];
    const bool takes =
        reader.kind == OpKind::kConvolution || reader.kind == OpKind::kMaxPool;
    if (!takes || reader.inputs[0] != node.outputs[0]) continue;
    reader.inputs[0] = node.inputs[0];
    node.target.clear();
  }
  DropUnused(draft);
}

}  // namespace

void FuseConvolutions(Draft& draft) {
  FusePadding(draft);
  const Uses uses(draft);
  // By node: the convolution that it went into.
  std::vector<std::ptrdiff_t> went_into(draft.nodes.size(), -1);
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    const std::optional<TensorId> operand =
        AffineOperand(draft, draft.nodes[i]);
    if (!operand || uses.SoleReader(*operand) < 0) continue;
    std::ptrdiff_t at = uses.Producer(*operand);
    if (at >= 0 && went_into[static_cast<std::size_t>(at)] >= 0) {
      at = went_into[static_cast<std::size_t>(at)];
    }
    if (at < 0) continue;
    DraftNode& convolution = draft.nodes[static_cast<std::size_t>(at)];
    if (convolution.kind != OpKind::kConvolution ||
        !draft.IsConstant(convolution.inputs[1])) {
      continue;
    }
    if (convolution.inputs.size() == 2) {
      const TensorType type = draft.TypeOf(*operand);
      convolution.inputs.push_back(
          draft.AddTensor({type.dtype, {type.shape.at(1)}}));
      draft.tensors.back().constant = true;
    }
    convolution.outputs = draft.nodes[i].outputs;
    draft.nodes[i].target.clear();
    went_into[i] = at;
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
