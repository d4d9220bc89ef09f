#include "src/parallel/sharded.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/shard_sizes.h"
#include "src/parallel/sharded_units.h"
#include "src/parallel/step_rewriter.h"

// fully_shard, PyTorch's FSDP2: of every parameter each GPU keeps the rows of
// its own, and a unit's parameters are whole only while it runs
// (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, 2.13).
//
//   forward    gather into one buffer, copy out; the buffer stays until the
//   next
//              unit has gathered, so that the copy can overlap that. Parameters
//              go when the unit is done; those of the root stay.
//   backward   gather again, one unit ahead; the buffer goes after the copy.
//              When a unit is done its parameters go, its gradients are packed,
//              reduced and scattered; the packed ones stay until the next unit
//              is done. A unit whose inputs need no gradient, and the root, are
//              done when the whole backward pass is.
//
// kZero2 is reshard_after_forward=False: what the forward pass gathered stays.
//
// Rows are split as torch.chunk does, so the first GPU, which is the one shown,
// has most; what is gathered and scattered is padded to equal parts.

namespace foretell::parallel {
namespace {

using Kind = MemoryEvent::Kind;

std::string NameOf(const ShardedUnit& unit) {
  return unit.path.empty() ? "root" : unit.path;
}

class ShardedStep final : public StepRewriter {
 public:
  ShardedStep(const OperatorGraph& graph, const ParallelSpec& spec,
              std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        facts_(graph, trained),
        sizes_(graph, facts_, spec.gpus),
        found_(FindUnits(graph, facts_, spec)),
        states_(found_.units.size()),
        shards_(facts_.parameters.size(), kNone),
        whole_(facts_.parameters.size(), kNone),
        reduced_(facts_.parameters.size(), kNone) {}

 private:
  /// What a unit has of its own at the moment.
  struct UnitState {
    StorageId buffer = kNone;  ///< What was gathered; kNone: nothing is.
    ValueId gathered = kNone;
    bool is_whole = false;
    bool is_done = false;  ///< With its backward pass.
  };

  const Parameter& At(ParameterIndex index) const {
    return facts_.parameters[IndexOf(index)];
  }
  std::optional<std::int64_t> BytesOf(StorageId id) const override {
    const ParameterIndex index = facts_.OwnerOf(id);
    const std::int64_t bytes = graph().storage(id).bytes;
    if (index == kNone || At(index).gradient == id) return bytes;
    const std::int64_t elements = sizes_.TypeOf(index).NumElements();
    if (elements == 0) return bytes;
    return bytes / elements * sizes_.ShardType(index).NumElements();
  }

  TensorType TypeOf(ValueId id) const override {
    const Value& value = graph().value(id);
    const ParameterIndex index = facts_.OwnerOf(value.storage);
    const bool is_sharded =
        value.producer == kNone ||
        graph().node(value.producer).phase == Phase::kOptimizer;
    if (index == kNone || !is_sharded ||
        value.type.NumElements() != sizes_.TypeOf(index).NumElements()) {
      return value.type;
    }
    return {value.type.dtype, sizes_.ShardType(index).shape};
  }

  /// Gradients die where they are packed.
  bool Keeps(const MemoryEvent& event) const override {
    const ParameterIndex index = facts_.OwnerOf(event.storage);
    return event.kind == Kind::kAllocate || index == kNone ||
           At(index).gradient != event.storage;
  }

  void Begin() override {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      shards_[i] = ValueNow(facts_.parameters[i].value);
    }
  }

  void BeforeNode(NodeId id) override {
    if (id == facts_.first_forward) BeginForward(0);
    for (std::size_t i = 1; i < states_.size(); ++i) {
      if (found_.units[i].first_forward == id) BeginForward(i);
    }
    if (id == found_.backward) BeginNetworkBackward();
    for (std::size_t i = 1; i < states_.size(); ++i) {
      if (found_.units[i].first_backward == id) BeginBackward(i);
    }
  }

  void AfterNode(NodeId id) override {
    for (std::size_t i = 1; i < states_.size(); ++i) {
      const ShardedUnit& unit = found_.units[i];
      if (unit.last_forward == id) EndForward(i);
      if (unit.last_backward == id && unit.inputs_need_gradients) {
        EndBackward(i);
      }
    }
    if (id == facts_.last_forward) FreeWaiting();
    if (id == facts_.last_backward) EndAll();
  }

  bool HasParameters(std::size_t unit) const {
    return !found_.units[unit].parameters.empty();
  }

  void Gather(std::size_t i, Phase phase) {
    const ShardedUnit& unit = found_.units[i];
    Added added{.target = {},
                .inputs = {},
                .types = {},
                .storages = {},
                .phase = phase,
                .scope = unit.path};
    for (const ParameterIndex index : unit.parameters) {
      added.inputs.push_back(shards_[IndexOf(index)]);
    }
    // Not before what the unit before it gathered has been copied out.
    if (last_copied_ != kNone) added.inputs.push_back(last_copied_);
    const std::int64_t bytes = sizes_.WholeBytes(unit.parameters);
    const StorageId buffer =
        builder().AddStorage(bytes, TensorRole::kParameter,
                             fmt::format("gathered {}", NameOf(unit)));
    added.types = {sizes_.FlatType(unit.parameters, bytes)};
    added.storages = {buffer};
    states_[i].gathered =
        AddCollective(kAllGather, bytes, std::move(added)).front();
    builder().Allocate(buffer, Current());
    states_[i].buffer = buffer;
  }

  void CopyOut(std::size_t i, Phase phase) {
    const ShardedUnit& unit = found_.units[i];
    Added added{.target = "split_with_sizes_copy",
                .inputs = {states_[i].gathered},
                .types = {},
                .storages = {},
                .phase = phase,
                .scope = unit.path};
    for (const ParameterIndex index : unit.parameters) {
      const std::string& label = graph().value(At(index).value).name;
      added.types.push_back(sizes_.TypeOf(index));
      added.storages.push_back(builder().AddStorage(
          sizes_.WholeBytes(index), TensorRole::kParameter, label));
    }
    const std::vector<StorageId> storages = added.storages;
    const std::vector<ValueId> values = Add(std::move(added));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const ParameterIndex index = unit.parameters[k];
      builder().Allocate(storages[k], Current());
      whole_[IndexOf(index)] = storages[k];
      SetStorage(At(index).storage, storages[k]);
      SetValue(At(index).value, values[k]);
    }
    last_copied_ = values.front();
    states_[i].is_whole = true;
  }

  void FreeWhole(std::size_t i) {
    if (!std::exchange(states_[i].is_whole, false)) return;
    for (const ParameterIndex index : found_.units[i].parameters) {
      Free(whole_[IndexOf(index)]);
      SetValue(At(index).value, shards_[IndexOf(index)]);
      SetStorage(At(index).storage,
                 builder().value(shards_[IndexOf(index)]).storage);
    }
  }

  void FreeBuffer(std::size_t i) {
    const StorageId buffer = std::exchange(states_[i].buffer, kNone);
    if (buffer != kNone) Free(buffer);
  }

  /// Frees the buffer that a forward pass left to the next unit.
  void FreeWaiting() {
    if (waiting_) FreeBuffer(*waiting_);
    waiting_.reset();
  }

  void BeginForward(std::size_t i) {
    if (!HasParameters(i) || states_[i].is_whole) return;
    Gather(i, Phase::kForward);
    FreeWaiting();
    CopyOut(i, Phase::kForward);
    waiting_ = i;
    order_.push_back(i);
  }

  void EndForward(std::size_t i) {
    if (spec().kind == ParallelKind::kFsdp) FreeWhole(i);
  }

  /// The root's parameters are there; the last unit's are asked for.
  void BeginNetworkBackward() {
    if (HasParameters(0)) Prefetch(order_.size());
  }

  /// Asks for the unit before the one at `place` of the forward order; the root
  /// stands first there and has its parameters.
  void Prefetch(std::size_t place) {
    if (place == 0) return;
    const std::size_t i = order_[place - 1];
    if (!states_[i].is_whole && states_[i].buffer == kNone) {
      Gather(i, Phase::kBackward);
    }
  }

  void BeginBackward(std::size_t i) {
    if (!HasParameters(i)) return;
    if (!states_[i].is_whole) {
      if (states_[i].buffer == kNone) Gather(i, Phase::kBackward);
      CopyOut(i, Phase::kBackward);
      FreeBuffer(i);
    }
    const auto place = std::ranges::find(order_, i);
    Prefetch(static_cast<std::size_t>(place - order_.begin()));
  }

  void EndBackward(std::size_t i) {
    if (std::exchange(states_[i].is_done, true)) return;
    FreeWhole(i);
    const std::vector<ParameterIndex> trained =
        facts_.TrainedOf(found_.units[i].parameters);
    if (trained.empty()) return;
    FreePacked();
    const ValueId packed = Pack(i, trained);
    Scatter(i, trained, packed);
  }

  void FreePacked() {
    const StorageId packed = std::exchange(packed_, kNone);
    if (packed != kNone) Free(packed);
  }

  ValueId Pack(std::size_t i, const std::vector<ParameterIndex>& trained) {
    const ShardedUnit& unit = found_.units[i];
    Added added{.target = "_chunk_cat",
                .inputs = {},
                .types = {},
                .storages = {},
                .scope = unit.path};
    for (const ParameterIndex index : trained) {
      for (const ValueId output : graph().node(At(index).ready).outputs) {
        if (graph().value(output).storage == At(index).gradient) {
          added.inputs.push_back(ValueNow(output));
        }
      }
    }
    // What the unit before it packed is reduced by then.
    if (last_reduced_ != kNone) added.inputs.push_back(last_reduced_);
    packed_ = builder().AddStorage(
        sizes_.WholeBytes(trained), TensorRole::kGradient,
        fmt::format("packed gradients of {}", NameOf(unit)));
    added.types = {sizes_.FlatType(trained, sizes_.WholeBytes(trained))};
    added.storages = {packed_};
    const ValueId packed = Add(std::move(added)).front();
    builder().Allocate(packed_, Current());
    for (const ParameterIndex index : trained) {
      Free(StorageNow(At(index).gradient));
    }
    return packed;
  }

  void Scatter(std::size_t i, const std::vector<ParameterIndex>& trained,
               ValueId packed) {
    const std::int64_t bytes = sizes_.WholeBytes(trained);
    const ShardedUnit& unit = found_.units[i];
    const StorageId storage =
        builder().AddStorage(bytes / spec().gpus, TensorRole::kGradient,
                             fmt::format("gradients of {}", NameOf(unit)));
    Added added{.target = {},
                .inputs = {packed},
                .types = {},
                .storages = {},
                .scope = unit.path};
    for (const ParameterIndex index : trained) {
      added.types.push_back(sizes_.ShardType(index));
      added.storages.push_back(storage);
    }
    const std::vector<ValueId> values =
        AddCollective(kReduceScatter, bytes, std::move(added));
    builder().Allocate(storage, Current());
    for (std::size_t k = 0; k < values.size(); ++k) {
      reduced_[IndexOf(trained[k])] = values[k];
    }
    last_reduced_ = values.front();
  }

  /// What autograd did not tell of is done now, the root first; the optimizer
  /// reads shards from here on.
  void EndAll() {
    for (std::size_t i = 0; i < states_.size(); ++i) EndBackward(i);
    for (std::size_t i = 0; i < states_.size(); ++i) FreeBuffer(i);
    FreePacked();
    for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
      const StorageId storage = graph().value(id).storage;
      const ParameterIndex index = facts_.OwnerOf(storage);
      if (index == kNone || At(index).gradient != storage) continue;
      SetValue(id, reduced_[IndexOf(index)]);
      SetStorage(storage, builder().value(reduced_[IndexOf(index)]).storage);
    }
  }

  StepFacts facts_;
  ShardSizes sizes_;
  ShardedUnits found_;
  std::vector<UnitState> states_;   ///< By unit.
  std::vector<ValueId> shards_;     ///< By parameter: its source.
  std::vector<StorageId> whole_;    ///< By parameter, while it is gathered.
  std::vector<ValueId> reduced_;    ///< By parameter: its gradient's shard.
  std::vector<std::size_t> order_;  ///< Units in the order of their gathering.
  std::optional<std::size_t> waiting_;  ///< Whose buffer goes next.
  StorageId packed_ = kNone;            ///< Being reduced.
  ValueId last_copied_ = kNone;
  ValueId last_reduced_ = kNone;
};

}  // namespace

OperatorGraph ShardParameters(const OperatorGraph& graph,
                              const ParallelSpec& spec,
                              std::span<const TrainedParameter> trained) {
  return ShardedStep(graph, spec, trained).Rewrite();
}

}  // namespace foretell::parallel
