#include "src/parallel/tensor_parallel.h"

#include <algorithm>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/combined.h"
#include "src/parallel/sequence_parallel.h"
#include "src/parallel/shared_layers.h"
#include "src/parallel/step_facts.h"
#include "src/parallel/step_rewriter.h"
#include "src/parallel/vocabulary.h"

// Tensor parallelism as in Megatron-LM, by PyTorch's parallelize_module with
// ColwiseParallel and RowwiseParallel: all GPUs get the same batch, and
// each computes a part of the features between a layer that is shared by
// columns and one that is shared by rows.
//
// The result of a layer by rows is a sum over GPUs, and so is the gradient of
// the input of a layer by columns: both are added up at once, into a tensor of
// its own, as by c10d's functional all_reduce. A bias after a layer by rows is
// added by the first GPU, within its product.

namespace foretell::parallel {
namespace {

/// The optimizer whose state begins as a copy of the gradient.
constexpr std::string_view kCopiesGradient = "momentum";

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
    SplitTable();
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

  /// The vocabulary's, by its rows.
  void SplitTable() {
    const Vocabulary& vocabulary = layers_.vocabulary();
    if (vocabulary.table == kNone) return;
    const Parameter& table = facts_.parameters[IndexOf(vocabulary.table)];
    for (ValueId id = 0; id < std::ssize(splits_); ++id) {
      const Value& value = graph().value(id);
      if (value.storage != table.storage || splits_[IndexOf(id)] ||
          value.type.shape.size() != 2) {
        continue;
      }
      const bool is_turned =
          value.type.shape != graph().value(table.value).type.shape;
      splits_[IndexOf(id)] = {is_turned ? 1 : 0, vocabulary.words};
    }
  }

  /// The gradient of a table that only looks up, and SGD's momentum, which
  /// begins as a copy of the gradient; other states begin as zeros like the
  /// parameter.
  bool IsWholeOnEveryGpu(StorageId storage) const {
    const Vocabulary& vocabulary = layers_.vocabulary();
    if (vocabulary.table == kNone ||
        facts_.OwnerOf(storage) != vocabulary.table ||
        vocabulary.IsHead(vocabulary.table)) {
      return false;
    }
    const Parameter& table = facts_.parameters[IndexOf(vocabulary.table)];
    const bool is_state =
        graph().storage(storage).role == TensorRole::kOptimizerState;
    return storage == table.gradient ||
           (is_state && graph().info().optimizer == kCopiesGradient);
  }

  std::int64_t LengthAt(ValueId id, std::int32_t dim) const {
    return graph().value(id).type.shape[IndexOf(dim)];
  }

  /// Gradients and the optimizer's tensors are split as their parameters.
  void SplitFollowers() {
    for (ValueId id = 0; id < std::ssize(splits_); ++id) {
      const ParameterIndex owner = facts_.OwnerOf(graph().value(id).storage);
      if (owner == kNone || splits_[IndexOf(id)]) continue;
      if (IsWholeOnEveryGpu(graph().value(id).storage)) continue;
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

  /// Whether what the operator allocates for itself is a part too.
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

  void BeforeNode(NodeId id) override {
    const Node& node = graph().node(id);
    if (node.phase == Phase::kOptimizer) CopyParts(node);
  }

  /// An operator of the optimizer that writes a part reads that part of whole
  /// operands, by copies for itself.
  void CopyParts(const Node& node) {
    const std::size_t width = node.outputs.size();
    for (std::size_t i = 0; width > 0 && i < node.inputs.size(); ++i) {
      const ValueId operand = node.inputs[i];
      const auto& split = splits_[IndexOf(node.outputs[i % width])];
      if (!split || !IsWholeOnEveryGpu(graph().value(operand).storage)) {
        continue;
      }
      TensorType type = graph().value(operand).type;
      if (IndexOf(split->dim) >= type.shape.size()) continue;
      type.shape[IndexOf(split->dim)] /= gpus();
      const ValueId whole = ValueNow(operand);
      Strides strides = DenseStridesLike(
          type.shape, foretell::StridesOf(graph().value(operand)));
      const ValueId part =
          AddTensor({.target = "clone",
                     .inputs = {whole},
                     .types = {type},
                     .phase = Phase::kOptimizer,
                     .strides = {std::move(strides)}},
                    type.Bytes(), TensorRole::kOptimizerTemporary, "own part");
      SetValue(operand, part);
      copies_.push_back({.operand = operand,
                         .whole = whole,
                         .part = builder().value(part).storage});
    }
  }

  void AfterNode(NodeId id) override {
    for (const PartCopy& copy : std::exchange(copies_, {})) {
      Free(copy.part);
      SetValue(copy.operand, copy.whole);
    }
    const LayerProduct* layer = layers_.products().Of(id);
    if (layer == nullptr) return;
    const LayerShare sums =
        layer->is_gradient ? LayerShare::kColumns : LayerShare::kRows;
    if (layers_.ShareOf(layer->weight) == sums) AddUp(layer->product);
  }

  struct PartCopy {
    ValueId operand = kNone;  ///< Of the graph.
    ValueId whole = kNone;    ///< In the new graph.
    StorageId part = kNone;   ///< In the new graph.
  };

  std::vector<PartCopy> copies_;  ///< For the node that is next.
  StepFacts facts_;
  SharedLayers layers_;
  std::vector<std::optional<Split>> splits_;  ///< By value.
  std::vector<bool> is_shared_;               ///< By storage.
};

}  // namespace

OperatorGraph ShareLayers(const OperatorGraph& graph, const ParallelSpec& spec,
                          std::span<const TrainedParameter> trained) {
  const ParallelSpec group = ModelPart(spec);
  const auto share = [&](const OperatorGraph& whole,
                         std::span<const TrainedParameter> all) {
    SharedStep step(whole, group, all);
    BorderedStep shared{.graph = step.Rewrite(), .trained = {}};
    shared.trained = step.TrainedNow(all);
    if (spec.sequence) shared = ShareSequences(shared, group);
    return ShareData(std::move(shared.graph), spec, shared.trained);
  };
  if (!spec.vocabulary) return share(graph, trained);
  const BorderedStep step = AddVocabularyBorders(graph, group, trained);
  return share(step.graph, step.trained);
}

}  // namespace foretell::parallel
