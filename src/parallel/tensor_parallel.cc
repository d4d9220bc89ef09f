#include "src/parallel/tensor_parallel.h"

#include <algorithm>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/shared_layers.h"
#include "src/parallel/step_facts.h"
#include "src/parallel/step_rewriter.h"

// Tensor parallelism as Megatron-LM has it, by PyTorch's parallelize_module
// with ColwiseParallel and RowwiseParallel: all GPUs take the same batch, and
// each computes a part of the features between a layer that is shared by
// columns and one that is shared by rows.
//
// The result of a layer by rows is a sum over GPUs, and so is the gradient of
// the input of a layer by columns: both are added up at once, into a tensor of
// its own, as c10d's functional all_reduce has it. A bias behind a layer by
// rows is added by the first GPU, within its product.

namespace foretell::parallel {
namespace {

class SharedStep final : public StepRewriter {
 public:
  SharedStep(const OperatorGraph& graph, const ParallelSpec& spec,
             std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        facts_(graph, trained),
        layers_(graph, facts_, spec),
        splits_(graph.values().size()),
        is_shared_(graph.storages().size(), false) {
    for (ValueId id = 0; id < std::ssize(splits_); ++id) {
      splits_[IndexOf(id)] = layers_.At(id);
    }
    SplitWeights();
    SplitFollowers();
    MarkStorages();
  }

 private:
  std::int64_t gpus() const { return spec().gpus; }

  /// Weights as products read them, then their other forms by their shapes.
  void SplitWeights() {
    for (const LayerProduct& layer : layers_.products().all()) {
      const LayerShare share = layers_.ShareOf(layer.weight);
      if (share == LayerShare::kWhole) continue;
      const bool is_first =
          (share == LayerShare::kColumns) == layer.is_out_by_in;
      const Split split{is_first ? 0 : 1, layers_.PeriodOf(layer.weight)};
      splits_[IndexOf(layer.matrix)] = split;
      const std::int64_t length = LengthAt(layer.matrix, split.dim);
      for (ValueId id = 0; id < std::ssize(splits_); ++id) {
        if (layers_.products().WeightIn(id) != layer.weight) continue;
        if (splits_[IndexOf(id)]) continue;
        splits_[IndexOf(id)] = {
            LengthAt(id, split.dim) == length ? split.dim : 1 - split.dim,
            split.period};
      }
    }
  }

  std::int64_t LengthAt(ValueId id, std::int32_t dim) const {
    return graph().value(id).type.shape[IndexOf(dim)];
  }

  /// Gradients and the optimizer's tensors are split as their parameters.
  void SplitFollowers() {
    for (ValueId id = 0; id < std::ssize(splits_); ++id) {
      const ParameterIndex owner = facts_.OwnerOf(graph().value(id).storage);
      if (owner == kNone || splits_[IndexOf(id)]) continue;
      const ValueId parameter = facts_.parameters[IndexOf(owner)].value;
      const std::optional<Split> split = splits_[IndexOf(parameter)];
      const Shape& shape = graph().value(id).type.shape;
      const Shape& mine = graph().value(parameter).type.shape;
      if (!split) continue;
      if (shape == mine) splits_[IndexOf(id)] = split;
      if (shape == Shape(mine.rbegin(), mine.rend()) && shape != mine) {
        const auto last = static_cast<std::int32_t>(shape.size()) - 1;
        splits_[IndexOf(id)] = {last - split->dim, split->period};
      }
    }
  }

  void MarkStorages() {
    std::vector<bool> is_named(is_shared_.size(), false);
    for (ValueId id = 0; id < std::ssize(splits_); ++id) {
      const StorageId storage = graph().value(id).storage;
      is_named[IndexOf(storage)] = true;
      if (splits_[IndexOf(id)]) is_shared_[IndexOf(storage)] = true;
    }
    for (const MemoryEvent& event : graph().events()) {
      if (event.node == kNone || is_named[IndexOf(event.storage)]) continue;
      if (SharesWork(graph().node(event.node))) {
        is_shared_[IndexOf(event.storage)] = true;
      }
    }
  }

  /// Whether what the operator takes for itself is a part too.
  bool SharesWork(const Node& node) const {
    return std::ranges::any_of(node.outputs, [this](ValueId id) {
      return splits_[IndexOf(id)].has_value();
    });
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override {
    const std::int64_t bytes = graph().storage(id).bytes;
    return is_shared_[IndexOf(id)] ? bytes / gpus() : bytes;
  }

  TensorType TypeOf(ValueId id) const override {
    TensorType type = graph().value(id).type;
    if (const std::optional<Split>& split = splits_[IndexOf(id)]) {
      type.shape[IndexOf(split->dim)] /= gpus();
    }
    return type;
  }

  Attributes AttributesOf(NodeId id) const override {
    Attributes attributes = graph().node(id).attributes;
    const LayerProduct* layer = layers_.products().Of(id);
    if (layer == nullptr || layer->is_gradient) return attributes;
    attributes.emplace_back(
        kShareAttribute,
        std::string(LayerShareName(layers_.ShareOf(layer->weight))));
    return attributes;
  }

  void AfterNode(NodeId id) override {
    const LayerProduct* layer = layers_.products().Of(id);
    if (layer == nullptr) return;
    const LayerShare sums =
        layer->is_gradient ? LayerShare::kColumns : LayerShare::kRows;
    if (layers_.ShareOf(layer->weight) == sums) AddUp(layer->product);
  }

  /// Adds up all GPUs' parts of `id`, which the sum then stands for.
  void AddUp(ValueId id) {
    const Value& value = graph().value(id);
    const StorageId part = StorageNow(value.storage);
    const Storage storage = builder().storage(part);
    const StorageId sum =
        Allocate(storage.bytes, storage.role, storage.label + ".sum");
    const ValueId added =
        AddCollective(kAllReduce, value.type.Bytes(),
                      {.target = {},
                       .inputs = {ValueNow(id)},
                       .types = {value.type},
                       .storages = {sum},
                       .phase = graph().node(value.producer).phase})
            .front();
    Free(part);
    SetStorage(value.storage, sum);
    SetValue(id, added);
  }

  StepFacts facts_;
  SharedLayers layers_;
  std::vector<std::optional<Split>> splits_;  ///< By value.
  std::vector<bool> is_shared_;               ///< By storage.
};

}  // namespace

OperatorGraph ShareLayers(const OperatorGraph& graph, const ParallelSpec& spec,
                          std::span<const TrainedParameter> trained) {
  return SharedStep(graph, spec, trained).Rewrite();
}

}  // namespace foretell::parallel
