#include "src/parallel/data_parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/gradient_buckets.h"
#include "src/parallel/step_facts.h"
#include "src/parallel/step_rewriter.h"

// DistributedDataParallel: every GPU has the whole network and a batch of its
// own; gradients are averaged.
//
// Buckets live as long as the process. A gradient is copied into its bucket as
// soon as it is ready; a bucket is exchanged once it is full and those before
// it are on their way, while the backward pass goes on; at its end all are
// waited for and copied back. With gradient_as_bucket_view a gradient dies once
// it is copied and the bucket is what the optimizer reads. Buffers come from
// the first GPU before the forward pass, those of one type in one piece.
//
// ZeroRedundancyOptimizer gives every GPU the parameters that it steps, largest
// first to the one that has least; each is sent to all others afterwards.

namespace foretell::parallel {
namespace {

using Kind = MemoryEvent::Kind;

/// Whether the first of `gpus` steps the parameter, by its index.
std::vector<bool> OwnedByFirst(const OperatorGraph& graph,
                               const StepFacts& facts, int gpus) {
  std::vector<std::pair<std::int64_t, ParameterIndex>> sorted;
  for (std::size_t i = 0; i < facts.parameters.size(); ++i) {
    const Parameter& one = facts.parameters[i];
    if (one.gradient == kNone) continue;
    sorted.emplace_back(graph.value(one.value).type.NumElements(), i);
  }
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           &std::pair<std::int64_t, ParameterIndex>::first);
  std::vector<std::int64_t> held(static_cast<std::size_t>(gpus), 0);
  std::vector<bool> owned(facts.parameters.size(), false);
  for (const auto& [elements, index] : sorted) {
    const auto least = std::ranges::min_element(held);
    *least += elements;
    owned[IndexOf(index)] = least == held.begin();
  }
  return owned;
}

class DataParallel final : public StepRewriter {
 public:
  DataParallel(const OperatorGraph& graph, const ParallelSpec& spec,
               std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        facts_(graph, trained),
        buckets_(MakeBuckets(graph, facts_)),
        filled_(buckets_.size(), 0),
        inputs_(buckets_.size()),
        results_(facts_.parameters.size(), kNone),
        bucket_of_(facts_.parameters.size()),
        stands_(graph.storages().size(), false) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      for (const ParameterIndex index : buckets_[i].parameters) {
        bucket_of_[IndexOf(index)] = i;
      }
    }
    for (const MemoryEvent& event : graph.events()) {
      if (event.node == kNone && event.kind == Kind::kAllocate) {
        stands_[IndexOf(event.storage)] = true;
      }
    }
    if (spec.kind == ParallelKind::kZero1) {
      owned_ = OwnedByFirst(graph, facts_, spec.gpus);
    }
  }

 private:
  bool IsOwned(ParameterIndex index) const {
    return owned_.empty() || index == kNone || owned_[IndexOf(index)];
  }
  bool IsOfOptimizer(StorageId id) const {
    const TensorRole role = graph().storage(id).role;
    return role == TensorRole::kOptimizerState ||
           role == TensorRole::kOptimizerTemporary;
  }
  bool IsGradient(StorageId id) const {
    const ParameterIndex index = facts_.OwnerOf(id);
    return index != kNone && facts_.parameters[IndexOf(index)].gradient == id;
  }
  /// True if the gradient is a view of its bucket in all steps.
  bool LiesInBucket(StorageId id) const {
    return spec().bucket_view && stands_[IndexOf(id)] && IsGradient(id);
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override {
    if (LiesInBucket(id)) return std::nullopt;
    if (IsOfOptimizer(id) && !IsOwned(facts_.OwnerOf(id))) return std::nullopt;
    return StepRewriter::BytesOf(id);
  }

  /// A gradient that its bucket replaces dies in Copy().
  bool Keeps(const MemoryEvent& event) const override {
    if (LiesInBucket(event.storage)) return false;
    return !(spec().bucket_view && event.kind == Kind::kFree &&
             event.node != kNone && IsGradient(event.storage));
  }

  bool HasOperand(const Node& node, std::size_t i) const override {
    return IsSteppedHere(node, node.inputs[i]);
  }
  bool HasResult(const Node& node, std::size_t i) const override {
    return IsSteppedHere(node, node.outputs[i]);
  }
  bool IsSteppedHere(const Node& node, ValueId value) const {
    return node.phase != Phase::kOptimizer ||
           IsOwned(facts_.OwnerOf(graph().value(value).storage));
  }

  void Begin() override {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      storages_.push_back(Allocate(buckets_[i].bytes, TensorRole::kGradient,
                                   fmt::format("bucket {}", i)));
    }
    for (const Parameter& parameter : facts_.parameters) {
      if (parameter.gradient == kNone || !LiesInBucket(parameter.gradient)) {
        continue;
      }
      const auto index =
          static_cast<std::size_t>(&parameter - facts_.parameters.data());
      SetStorage(parameter.gradient, storages_[bucket_of_[index]]);
    }
  }

  void BeforeNode(NodeId id) override {
    if (id == facts_.first_forward) SendBuffers();
  }

  void AfterNode(NodeId id) override {
    for (; next_ < facts_.by_ready.size(); ++next_) {
      const ParameterIndex index = facts_.by_ready[next_];
      if (facts_.parameters[IndexOf(index)].ready > id) break;
      Copy(index);
    }
    if (id == facts_.last_backward) CopyBack();
    if (id == facts_.last_optimizer && !owned_.empty()) SendParameters();
  }

  const TensorType& TypeOfParameter(ParameterIndex index) const {
    return graph().value(facts_.parameters[IndexOf(index)].value).type;
  }

  const Strides& StridesOfParameter(ParameterIndex index) const {
    return graph().value(facts_.parameters[IndexOf(index)].value).strides;
  }

  /// The newest value in the gradient's storage, which a node wrote: by_ready
  /// has no other parameters.
  ValueId GradientOf(ParameterIndex index) const {
    const Parameter& parameter = facts_.parameters[IndexOf(index)];
    const std::vector<ValueId>& written = graph().node(parameter.ready).outputs;
    const auto value = std::ranges::find_if(written, [&](ValueId id) {
      return graph().value(id).storage == parameter.gradient;
    });
    return *value;
  }

  /// Copies a gradient that is ready into its bucket.
  void Copy(ParameterIndex index) {
    const std::size_t bucket = bucket_of_[IndexOf(index)];
    const StorageId gradient =
        StorageNow(facts_.parameters[IndexOf(index)].gradient);
    const ValueId value = ValueNow(GradientOf(index));
    if (gradient == storages_[bucket]) {
      inputs_[bucket].push_back(value);
    } else {
      inputs_[bucket].push_back(Add({.target = "mul",
                                     .inputs = {value},
                                     .types = {TypeOfParameter(index)},
                                     .storages = {storages_[bucket]},
                                     .strides = {StridesOfParameter(index)}})
                                    .front());
      if (spec().bucket_view) Free(gradient);
    }
    ++filled_[bucket];
    SendFullBuckets();
  }

  void SendFullBuckets() {
    for (; sent_ < buckets_.size(); ++sent_) {
      const GradientBucket& bucket = buckets_[sent_];
      if (filled_[sent_] < bucket.parameters.size()) return;
      Added added{
          .target = {}, .inputs = inputs_[sent_], .types = {}, .storages = {}};
      for (const ParameterIndex index : bucket.parameters) {
        added.types.push_back(TypeOfParameter(index));
        added.storages.push_back(storages_[sent_]);
        added.strides.push_back(StridesOfParameter(index));
      }
      const std::vector<ValueId> averaged =
          AddCollective(kAllReduce, bucket.bytes, std::move(added));
      for (std::size_t i = 0; i < averaged.size(); ++i) {
        results_[IndexOf(bucket.parameters[i])] = averaged[i];
      }
    }
  }

  /// What the optimizer reads: gradients that were copied back, or buckets.
  void CopyBack() {
    for (const ParameterIndex index : facts_.by_ready) {
      const Parameter& parameter = facts_.parameters[IndexOf(index)];
      ValueId averaged = results_[IndexOf(index)];
      if (!spec().bucket_view) {
        averaged = Add({.target = "copy_",
                        .inputs = {ValueNow(GradientOf(index)), averaged},
                        .types = {TypeOfParameter(index)},
                        .storages = {StorageNow(parameter.gradient)},
                        .strides = {StridesOfParameter(index)}})
                       .front();
      }
      for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
        if (graph().value(id).storage == parameter.gradient) {
          SetValue(id, averaged);
        }
      }
    }
  }

  /// Buffers of a type are sent in one piece, and copied out of it.
  void SendBuffers() {
    std::map<DType, std::vector<ValueId>> by_type;
    for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
      const Value& value = graph().value(id);
      const bool is_buffer =
          graph().storage(value.storage).role == TensorRole::kBuffer;
      if (is_buffer && value.producer == kNone) {
        by_type[value.type.dtype].push_back(id);
      }
    }
    for (const auto& [type, buffers] : by_type) SendPiece(type, buffers);
  }

  void SendPiece(DType dtype, const std::vector<ValueId>& buffers) {
    Added joined{.target = "cat",
                 .inputs = {},
                 .types = {},
                 .storages = {},
                 .phase = Phase::kForward};
    TensorType type{dtype, {0}};
    for (const ValueId id : buffers) {
      joined.inputs.push_back(ValueNow(id));
      type.shape[0] += graph().value(id).type.NumElements();
    }
    const bool is_alone = buffers.size() == 1;
    StorageId piece = StorageNow(graph().value(buffers.front()).storage);
    ValueId sent = joined.inputs.front();
    if (!is_alone) {
      piece = builder().AddStorage(type.Bytes(), TensorRole::kBuffer,
                                   "buffers in one piece");
      joined.types = {type};
      joined.storages = {piece};
      sent = Add(std::move(joined)).front();
      builder().Allocate(piece, Current());
    }
    const ValueId there = AddCollective(kBroadcast, type.Bytes(),
                                        {.target = {},
                                         .inputs = {sent},
                                         .types = {type},
                                         .storages = {piece},
                                         .phase = Phase::kForward})
                              .front();
    for (const ValueId id : buffers) TakeOut(there, id);
    if (!is_alone) Free(piece);
  }

  void TakeOut(ValueId piece, ValueId buffer) {
    const Value& value = graph().value(buffer);
    SetValue(buffer, Add({.target = "copy_",
                          .inputs = {ValueNow(buffer), piece},
                          .types = {value.type},
                          .storages = {StorageNow(value.storage)},
                          .phase = Phase::kForward,
                          .strides = {value.strides}})
                         .front());
  }

  void SendParameters() {
    for (const ParameterIndex index : facts_.by_ready) {
      const Parameter& parameter = facts_.parameters[IndexOf(index)];
      AddCollective(kBroadcast, TypeOfParameter(index).Bytes(),
                    {.target = {},
                     .inputs = {ValueNow(parameter.value)},
                     .types = {TypeOfParameter(index)},
                     .storages = {StorageNow(parameter.storage)},
                     .phase = Phase::kOptimizer,
                     .strides = {StridesOfParameter(index)}});
    }
  }

  StepFacts facts_;
  std::vector<GradientBucket> buckets_;
  std::vector<StorageId> storages_;           ///< By bucket.
  std::vector<std::size_t> filled_;           ///< By bucket: gradients in it.
  std::vector<std::vector<ValueId>> inputs_;  ///< By bucket: what fills it.
  std::vector<ValueId> results_;              ///< By parameter: its average.
  std::vector<std::size_t> bucket_of_;        ///< By parameter.
  std::vector<bool> stands_;  ///< By storage: alive before the first node.
  std::vector<bool> owned_;   ///< By parameter; empty: all.
  std::size_t next_ = 0;      ///< In by_ready.
  std::size_t sent_ = 0;      ///< Buckets on their way.
};

}  // namespace

OperatorGraph ShareBatches(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained) {
  return DataParallel(graph, spec, trained).Rewrite();
}

}  // namespace foretell::parallel
