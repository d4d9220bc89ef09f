#include "src/parallel/vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/graph/collective.h"
#include "src/parallel/shared_layers.h"
#include "src/parallel/step_rewriter.h"

// Vocabularies as parallelize_module shares them, PyTorch 2.13: the embedding
// by RowwiseParallel(input_layouts=Replicate()), the head by
// ColwiseParallel(output_layouts=Replicate()).
//
//   look-up   which words are of others (`lt`, `ge`, `or`), the words counted
//             from the first own one (`clone`, `sub`, `masked_fill_`), rows of
//             others set to 0, an all-reduce; the mask lives until then
//             (_MaskPartial of torch/distributed/tensor/placement_types.py)
//   head      an all-gather into a buffer, pieces of which `cat` puts side by
//             side; a contiguous copy of the own part of the gradient
//             (Shard._to_replicate_tensor and Shard._replicate_to_shard)
//
// The gradient of the table is whole on every GPU: all have the gradient of the
// look-up's result, and embedding_dense_backward keeps that placement. Where
// the head has the same table, that is cut to the own part to be added to it.

namespace foretell::parallel {
namespace {

constexpr std::string_view kLookUp = "embedding";
constexpr std::string_view kLookUpGradient = "embedding_backward";

/// A table and words, and what was found.
bool IsLookUpOfTable(const Node& node) {
  return node.target == kLookUp && node.inputs.size() > 1 &&
         !node.outputs.empty();
}

/// The parameter in whose own storage `id` is; kNone if there is none.
ParameterIndex ParameterAt(const OperatorGraph& graph, const StepFacts& facts,
                           ValueId id) {
  const StorageId storage = graph.value(id).storage;
  const ParameterIndex index = facts.OwnerOf(storage);
  if (index == kNone) return kNone;
  return facts.parameters[IndexOf(index)].storage == storage ? index : kNone;
}

const Shape& ShapeOf(const OperatorGraph& graph, const StepFacts& facts,
                     ParameterIndex index) {
  return graph.value(facts.parameters[IndexOf(index)].value).type.shape;
}

/// Whether nodes of the step allocate the storage, or those before it did.
std::vector<bool> LivesBefore(const OperatorGraph& graph) {
  std::vector<bool> lives(graph.storages().size(), false);
  for (const MemoryEvent& event : graph.events()) {
    if (event.node == kNone) lives[IndexOf(event.storage)] = true;
  }
  return lives;
}

class Borders final : public StepRewriter {
 public:
  Borders(const OperatorGraph& graph, const ParallelSpec& spec,
          std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        facts_(graph, trained),
        products_(graph, facts_),
        lives_before_(LivesBefore(graph)) {
    ParallelSpec without = spec;
    without.vocabulary = false;
    vocabulary_ =
        FindVocabulary(graph, facts_, products_,
                       SharedLayers(graph, facts_, without).WholeWeights());
    RequireEvenParts();
  }

  TrainedParameter Mapped(const TrainedParameter& one) const {
    return {.parameter = StorageNow(one.parameter),
            .gradient = StorageNow(one.gradient)};
  }

 private:
  void RequireEvenParts() const {
    if (vocabulary_.table == kNone) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the network has no token embedding",
                              ToString(spec())));
    }
    if (vocabulary_.words % spec().gpus == 0) return;
    const Parameter& table = facts_.parameters[IndexOf(vocabulary_.table)];
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: table '{}' has {}, which {} GPUs cannot share evenly",
                    ToString(spec()), graph().value(table.value).name,
                    Counted(vocabulary_.words, "word"), spec().gpus));
  }

  bool IsLookUp(const Node& node) const {
    return IsLookUpOfTable(node) &&
           ParameterAt(graph(), facts_, node.inputs.front()) ==
               vocabulary_.table;
  }

  /// The head's product that the node is; null if it is not one.
  const LayerProduct* HeadOf(NodeId id) const {
    const LayerProduct* layer = products_.Of(id);
    return layer != nullptr && vocabulary_.IsHead(layer->weight) ? layer
                                                                 : nullptr;
  }

  /// What the step before left of a head's results dies when the new ones are
  /// gathered.
  bool Keeps(const MemoryEvent& event) const override {
    return !IsReplaced(event);
  }

  bool IsReplaced(const MemoryEvent& event) const {
    if (event.kind != MemoryEvent::Kind::kFree || event.node == kNone ||
        !lives_before_[IndexOf(event.storage)]) {
      return false;
    }
    const LayerProduct* head = HeadOf(event.node);
    return head != nullptr && !head->is_gradient;
  }

  void BeforeNode(NodeId id) override {
    const Node& node = graph().node(id);
    if (IsLookUp(node)) MaskWords(node);
    const LayerProduct* head = HeadOf(id);
    if (head != nullptr && head->is_gradient) TakeOwnPart(head->factor, node);
  }

  void AfterNode(NodeId id) override {
    const Node& node = graph().node(id);
    if (IsLookUp(node)) AddUpRows(node);
    const LayerProduct* head = HeadOf(id);
    if (head != nullptr && !head->is_gradient) Gather(head->product, node);
    ReturnOwnPart(node);
    if (IsGradientOfTiedTable(node)) LendOwnPart(node);
  }

  bool IsGradientOfTiedTable(const Node& node) const {
    return node.target == kLookUpGradient && !node.outputs.empty() &&
           vocabulary_.IsHead(vocabulary_.table) &&
           graph().value(node.outputs.front()).type.shape ==
               ShapeOf(graph(), facts_, vocabulary_.table);
  }

  /// A node with one result in a storage of its own.
  ValueId AddOfWords(std::string target, std::vector<ValueId> inputs,
                     const TensorType& type, const Node& like) {
    const TensorRole role = like.phase == Phase::kForward
                                ? TensorRole::kActivation
                                : TensorRole::kBackwardTemporary;
    std::string label = target + ".words";
    return AddTensor({.target = std::move(target),
                      .inputs = std::move(inputs),
                      .types = {type},
                      .phase = like.phase,
                      .scope = like.scope},
                     type.Bytes(), role, std::move(label));
  }

  /// A node that writes into its first operand.
  ValueId AddInPlace(std::string target, std::vector<ValueId> inputs,
                     const Node& like) {
    const Value value = builder().value(inputs.front());
    return Add({.target = std::move(target),
                .inputs = std::move(inputs),
                .types = {value.type},
                .storages = {value.storage},
                .phase = like.phase,
                .scope = like.scope,
                .strides = {value.strides}})
        .front();
  }

  StorageId StorageOf(ValueId now) { return builder().value(now).storage; }

  void MaskWords(const Node& node) {
    words_ = node.inputs[1];
    whole_words_ = ValueNow(words_);
    const TensorType type = graph().value(words_).type;
    const TensorType marks{DType::kBool, type.shape};
    const ValueId below = AddOfWords("lt", {whole_words_}, marks, node);
    const ValueId above = AddOfWords("ge", {whole_words_}, marks, node);
    mask_ = AddOfWords("bitwise_or", {below, above}, marks, node);
    Free(StorageOf(below));
    Free(StorageOf(above));
    const ValueId copy = AddOfWords("clone", {whole_words_}, type, node);
    const ValueId own = AddOfWords("sub", {copy}, type, node);
    Free(StorageOf(copy));
    SetValue(words_, AddInPlace("masked_fill_", {own, mask_}, node));
  }

  void AddUpRows(const Node& node) {
    Free(StorageOf(ValueNow(words_)));
    SetValue(words_, whole_words_);
    const ValueId rows = node.outputs.front();
    SetValue(rows, AddInPlace("masked_fill_", {ValueNow(rows), mask_}, node));
    Free(StorageOf(mask_));
    AddUp(rows);
  }

  void Gather(ValueId id, const Node& node) {
    const Value& value = graph().value(id);
    const ValueId part = ValueNow(id);
    const Storage like = builder().storage(StorageOf(part));
    const StorageId buffer = builder().AddStorage(
        value.type.Bytes(), TensorRole::kActivation, like.label + ".gathered");
    const ValueId gathered = AddCollective(kAllGather, value.type.Bytes(),
                                           {.target = {},
                                            .inputs = {part},
                                            .types = {value.type},
                                            .storages = {buffer},
                                            .phase = node.phase,
                                            .scope = node.scope})
                                 .front();
    builder().Allocate(buffer, Current());
    const ValueId side_by_side =
        AddTensor({.target = "cat",
                   .inputs = {gathered},
                   .types = {value.type},
                   .phase = node.phase,
                   .scope = node.scope},
                  like.bytes, like.role, like.label + ".whole");
    Free(buffer);
    Free(StorageOf(part));
    SetStorage(value.storage, StorageOf(side_by_side));
    SetValue(id, side_by_side);
    FreeReplaced(node);
  }

  void FreeReplaced(const Node& node) {
    for (const MemoryEvent& event : graph().events()) {
      if (event.node == kNone || &graph().node(event.node) != &node) continue;
      const StorageId storage = StorageNow(event.storage);
      if (IsReplaced(event) && storage != kNone) Free(storage);
    }
  }

  /// A GPU's own part of `id`, in a storage of its own.
  ValueId CopyPart(ValueId id, const Node& node) {
    const Value& value = graph().value(id);
    const Storage like = builder().storage(StorageNow(value.storage));
    return AddTensor(
        {.target = "clone",
         .inputs = {ValueNow(id)},
         .types = {value.type},
         .phase = node.phase,
         .scope = node.scope,
         .attributes = {{std::string(kOwnPartAttribute), ToString(spec())}},
         .strides = {value.strides}},
        value.type.Bytes(), like.role, like.label + ".part");
  }

  /// The part replaces the whole, which is freed; views of it that were there
  /// before are views of the part.
  void TakeOwnPart(ValueId id, const Node& node) {
    const ValueId copy = CopyPart(id, node);
    const StorageId storage = graph().value(id).storage;
    Free(StorageNow(storage));
    SetStorage(storage, StorageOf(copy));
    SetValue(id, copy);
    for (ValueId view = 0; view < std::ssize(graph().values()); ++view) {
      if (view == id || graph().value(view).storage != storage) continue;
      if (IsReadFrom(view, node)) SetValue(view, ViewOf(copy, view, node));
    }
  }

  /// The part of a tied table's gradient is there until it is added to that of
  /// the head; the whole goes when it would.
  void LendOwnPart(const Node& node) {
    lent_ = node.outputs.front();
    SetValue(lent_, CopyPart(lent_, node));
  }

  void ReturnOwnPart(const Node& node) {
    if (lent_ == kNone || std::ranges::count(node.inputs, lent_) == 0) return;
    Free(StorageOf(ValueNow(lent_)));
    lent_ = kNone;
  }

  /// Whether a node from `first` on reads what was there before it.
  bool IsReadFrom(ValueId view, const Node& first) const {
    const Node* const begin = &first;
    const Node* const end = graph().nodes().data() + graph().nodes().size();
    const NodeId producer = graph().value(view).producer;
    if (producer == kNone || &graph().node(producer) >= begin) return false;
    return std::any_of(begin, end, [view](const Node& node) {
      return std::ranges::count(node.inputs, view) > 0;
    });
  }

  ValueId ViewOf(ValueId copy, ValueId view, const Node& node) {
    return Add({.target = "view",
                .inputs = {copy},
                .types = {graph().value(view).type},
                .storages = {StorageOf(copy)},
                .phase = node.phase,
                .scope = node.scope,
                .strides = {graph().value(view).strides}})
        .front();
  }

  StepFacts facts_;
  LayerProducts products_;
  Vocabulary vocabulary_;
  std::vector<bool> lives_before_;  ///< By storage.
  ValueId words_ = kNone;           ///< Looked up, in the graph.
  ValueId whole_words_ = kNone;     ///< The same in the new graph.
  ValueId mask_ = kNone;            ///< In the new graph.
  ValueId lent_ = kNone;            ///< A gradient of a table, in the graph.
};

}  // namespace

bool Vocabulary::IsHead(ParameterIndex weight) const {
  return std::ranges::count(heads, weight) > 0;
}

Vocabulary FindVocabulary(const OperatorGraph& graph, const StepFacts& facts,
                          const LayerProducts& products,
                          const std::vector<bool>& is_whole) {
  Vocabulary found;
  for (const Node& node : graph.nodes()) {
    if (!IsLookUpOfTable(node)) continue;
    const ParameterIndex table = ParameterAt(graph, facts, node.inputs.front());
    if (table == kNone || ShapeOf(graph, facts, table).size() != 2) continue;
    const std::int64_t rows = ShapeOf(graph, facts, table).front();
    if (rows <= found.words) continue;
    found = {.table = table, .words = rows, .heads = {}};
  }
  for (const LayerProduct& layer : products.all()) {
    if (layer.is_gradient || !is_whole[IndexOf(layer.weight)]) continue;
    const Shape& shape = graph.value(layer.product).type.shape;
    if (shape.empty() || shape.back() != found.words) continue;
    if (!found.IsHead(layer.weight)) found.heads.push_back(layer.weight);
  }
  return found;
}

BorderedStep AddVocabularyBorders(const OperatorGraph& graph,
                                  const ParallelSpec& spec,
                                  std::span<const TrainedParameter> trained) {
  Borders borders(graph, spec, trained);
  BorderedStep step{.graph = borders.Rewrite(), .trained = {}};
  for (const TrainedParameter& one : trained) {
    step.trained.push_back(borders.Mapped(one));
  }
  return step;
}

}  // namespace foretell::parallel
