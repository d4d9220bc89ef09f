#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/index_of.h"
#include "src/graph/strides.h"
#include "src/runtime/onnxruntime/passes.h"

// prefer_nhwc of the CUDA provider. The layout transformer
// (transpose_optimization/, layout_transformation/) gives each operator that
// has a kernel in domain com.ms.internal.nhwc a Transpose before and one after,
// and then moves Transposes through operators that do not mind until pairs of
// them cancel. What is left:
//
//   images     convolutions, batch norms, pools and the like; weights are
//              rearranged when the session is created
//   alike      operators element by element, sums, concatenations, padding:
//              they take over the layout of their operands
//   others     read and write row-major tensors, behind a Transpose if they
//              read an image. So do results of the network

namespace foretell::runtime::ort {
namespace {

constexpr std::size_t kLeastRank = 3;

/// Operators with a kernel in com.ms.internal.nhwc, apart from convolutions,
/// batch norms and pools (of the kernels that 1.31.1 registers).
constexpr std::string_view kOfImages[] = {"grid_sampler", "grid_sampler_2d",
                                          "pixel_shuffle", "pixel_unshuffle",
                                          "local_response_norm"};

bool IsOfImages(const DraftNode& node) {
  switch (node.kind) {
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kBatchNorm:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return true;
    default:
      return std::ranges::count(kOfImages, node.target) > 0;
  }
}

/// Operators that a Transpose moves through.
bool FollowsOperands(const DraftNode& node) {
  switch (node.kind) {
    case OpKind::kRelu:
    case OpKind::kGelu:
    case OpKind::kSilu:
    case OpKind::kSigmoid:
    case OpKind::kTanh:
    case OpKind::kHardActivation:
    case OpKind::kOtherActivation:
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
    case OpKind::kElementwise:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kReduce:
    case OpKind::kCast:
    case OpKind::kConcat:
    case OpKind::kPad:
    case OpKind::kSoftmax:
      return true;
    default:
      return node.target == "split_copy" || node.target == "slice_copy" ||
             node.target == "split_with_sizes_copy";
  }
}

class LayoutChange {
 public:
  explicit LayoutChange(Draft& draft)
      : draft_(draft),
        is_image_(draft.tensors.size(), false),
        other_(draft.tensors.size(), kNone) {}

  void Run() {
    std::vector<DraftNode> nodes = std::move(draft_.nodes);
    for (DraftNode& node : nodes) {
      const bool as_images = WantsImages(node);
      if (IsOfImages(node)) RearrangeWeights(node);
      for (TensorId& id : node.inputs) id = Read(id, as_images);
      if (as_images) {
        for (const TensorId id : node.outputs) MakeImage(id);
      }
      draft_.nodes.push_back(std::move(node));
    }
    for (TensorId& id : draft_.outputs) id = Read(id, false);
  }

 private:
  bool HasRank(TensorId id) const {
    return draft_.TypeOf(id).shape.size() >= kLeastRank;
  }

  bool WantsImages(const DraftNode& node) const {
    if (node.inputs.empty() || node.outputs.empty()) return false;
    if (IsOfImages(node)) return HasRank(node.inputs[0]);
    return FollowsOperands(node) &&
           std::ranges::any_of(node.inputs, [this](TensorId id) {
             return static_cast<bool>(is_image_[IndexOf(id)]);
           });
  }

  void MakeImage(TensorId id) {
    if (!HasRank(id)) return;  // A sum over positions.
    is_image_[IndexOf(id)] = true;
    DraftTensor& tensor = draft_.tensors[IndexOf(id)];
    tensor.strides = ChannelsLastStrides(tensor.type.shape);
  }

  void RearrangeWeights(const DraftNode& node) {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (draft_.IsConstant(node.inputs[i])) MakeImage(node.inputs[i]);
    }
  }

  /// `id` in the layout asked for: itself, or a transposed copy. Constants and
  /// what has no channels are fit for either.
  TensorId Read(TensorId id, bool as_image) {
    if (!HasRank(id) || draft_.IsConstant(id)) return id;
    if (is_image_[IndexOf(id)] == as_image) return id;
    if (other_[IndexOf(id)] != kNone) return other_[IndexOf(id)];
    const TensorId copy = draft_.AddTensor(draft_.TypeOf(id));
    is_image_.resize(draft_.tensors.size(), false);
    other_.resize(draft_.tensors.size(), kNone);
    other_[IndexOf(id)] = copy;
    if (as_image) MakeImage(copy);
    draft_.nodes.push_back(MakeNode("clone", {id}, copy, {}));
    return copy;
  }

  Draft& draft_;
  std::vector<bool> is_image_;   ///< By tensor: its channels come last.
  std::vector<TensorId> other_;  ///< The same in the other layout; kNone.
};

}  // namespace

void UseNhwc(Draft& draft) { LayoutChange(draft).Run(); }

}  // namespace foretell::runtime::ort
