#include "src/runtime/compile/image_copies.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "src/graph/convolution.h"
#include "src/graph/strides.h"
#include "src/runtime/compile/primitive_emitter.h"

// kernel/conv.py and GraphLowering.run_node of torch/_inductor (PyTorch 2.13).
// A convolution asks for its image and weight channels-last. What Inductor
// computes is written so at once; an input or parameter of the step is copied,
// in every call, unless its elements lie so already. What a user sees keeps
// the strides of eager PyTorch (config.keep_output_stride): an operator element
// by element writes them at once, a convolution's result is copied.

namespace foretell::runtime {
namespace {

constexpr std::size_t kOperands = 2;  // Image and weight.

class ImageCopier {
 public:
  explicit ImageCopier(const OperatorGraph& graph)
      : graph_(graph), emitter_(graph, graph.info(), false) {}

  OperatorGraph Run() {
    for (const Node& node : graph_.nodes()) {
      emitter_.Begin(node);
      Add(node);
    }
    const bool returns_images = graph_.info().mode == Mode::kInference ||
                                !graph_.info().runtime.breaks.empty();
    if (returns_images && !TakesChannelsLast()) {
      CopyResults();
    }
    return emitter_.Finish();
  }

 private:
  void Add(const Node& node) {
    if (!IsOnImages(node)) return emitter_.Copy(node, true);
    std::array<ValueId, kOperands> before = {};
    for (std::size_t i = 0; i < kOperands; ++i) {
      const ValueId id = node.inputs[i];
      before[i] = emitter_.Now(id);
      if (IsCopied(id)) emitter_.Set(id, emitter_.Clone(before[i], true));
    }
    emitter_.Copy(node, true);
    for (std::size_t i = 0; i < kOperands; ++i) {
      emitter_.Set(node.inputs[i], before[i]);
    }
  }

  bool IsOnImages(const Node& node) const {
    return IsForwardConvolution(node.kind) && node.inputs.size() >= kOperands &&
           IsChannelsLast(graph_.value(node.outputs.front()));
  }

  /// An input or parameter whose elements have another order.
  bool IsCopied(ValueId id) const {
    const Value& value = graph_.value(id);
    const Shape& shape = value.type.shape;
    return value.producer == kNone && shape[1] > 1 && shape[2] * shape[3] > 1 &&
           !IsChannelsLast(value);
  }

  bool TakesChannelsLast() const {
    return std::ranges::any_of(graph_.inputs(), [&](ValueId id) {
      return IsChannelsLast(graph_.value(id));
    });
  }

  void CopyResults() {
    for (const ValueId id : graph_.outputs()) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone || graph_.node(producer).phase != Phase::kForward ||
          !IsOnImages(graph_.node(producer)) ||
          graph_.node(producer).inputs.size() > kOperands) {
        continue;  // Adding a bias is element by element.
      }
      emitter_.Begin(graph_.node(producer));
      emitter_.Set(id, emitter_.Clone(emitter_.Now(id), false));
    }
  }

  const OperatorGraph& graph_;
  PrimitiveEmitter emitter_;
};

}  // namespace

OperatorGraph CopyImages(const OperatorGraph& graph) {
  return ImageCopier(graph).Run();
}

}  // namespace foretell::runtime
