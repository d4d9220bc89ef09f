#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/collective.h"
#include "src/parallel/held_inputs.h"
#include "src/parallel/shard_sizes.h"
#include "src/parallel/sharded_units.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

/// Rewrites the step for kFsdp, kFsdp1 and kZero2: sharded_step.cc has the
/// order of events, sharded_parameters.cc and sharded_gradients.cc the events.
class ShardedStep final : public StepRewriter {
 public:
  ShardedStep(const OperatorGraph& graph, const ParallelSpec& spec,
              std::span<const TrainedParameter> trained,
              std::span<const NodeId> passes, int expert_gpus);

 private:
  /// Current state of a unit.
  struct UnitState {
    StorageId buffer = kNone;  ///< The gathered buffer; kNone: none.
    ValueId gathered = kNone;
    bool is_whole = false;
    bool is_done = false;  ///< With its backward pass.
  };

  const Parameter& At(ParameterIndex index) const {
    return facts_.parameters[IndexOf(index)];
  }
  /// A unit's parameters are views of what was gathered.
  bool IsFlat() const { return spec().kind == ParallelKind::kFsdp1; }
  /// Bytes of all GPUs' shards of the parameters.
  std::int64_t WholeBytes(const std::vector<ParameterIndex>& indices) const {
    return IsFlat() ? sizes_.FlatBytes(indices) : sizes_.WholeBytes(indices);
  }
  /// What the unit's flat gradient is of.
  const std::vector<ParameterIndex>& PackedOf(
      std::size_t unit, const std::vector<ParameterIndex>& trained) const {
    return spec().orig_params ? found_.units[unit].parameters : trained;
  }
  /// Of a node that allocates on another stream than the one that computes.
  static Attributes OnStream(std::string_view name) {
    return {{std::string(kStreamAttribute), std::string(name)}};
  }
  /// Whether `id` is that `end` of one of the spans.
  static bool Has(const std::vector<NodeSpan>& spans, NodeId id,
                  NodeId NodeSpan::*end) {
    return std::ranges::count(spans, id, end) > 0;
  }
  /// Whether the next node begins a pass of a pipeline.
  bool EndsPass(NodeId id) const {
    return std::ranges::binary_search(passes_, id + 1);
  }
  bool HasParameters(std::size_t unit) const {
    return !found_.units[unit].parameters.empty();
  }

  /// Without the optimizer's nodes if the host runs it.
  std::vector<NodeId> Order() const override;
  std::optional<std::int64_t> BytesOf(StorageId id) const override;
  TensorType TypeOf(ValueId id) const override;
  /// Gradients are freed when they are packed.
  bool Keeps(const MemoryEvent& event) const override;
  void Begin() override;
  void BeforeNode(NodeId id) override;
  void AfterNode(NodeId id) override;

  /// Keeps what the storage now has to the end of the backward pass.
  void Hold(StorageId id);
  /// Holds the gradients of which this is the first reader. Autograd adds to
  /// one that is held in a new tensor, not in place.
  void HoldGradients(NodeId id);
  void BeginForward(std::size_t i);
  void EndForward(std::size_t i);
  /// A reentrant checkpoint has run the unit again.
  void EndRecomputation(std::size_t i);
  /// The root's parameters are gathered; requests those of the last unit.
  void BeginNetworkBackward();
  /// Requests the unit before the one at `place` in forward order; the root is
  /// first and already has its parameters.
  void Prefetch(std::size_t place);
  void BeginBackward(std::size_t i);
  /// A flat parameter is trained or frozen as a whole, so PEFT wraps adapters
  /// as units of their own (fsdp_auto_wrap_policy): what FSDP 1 gathers in
  /// advance is the next of them, not the next block.
  bool AdaptersAreUnits() const;

  /// @name Parameters of a unit
  /// @{
  void Gather(std::size_t i, Phase phase);
  /// The shards on the GPU: those of the host are copied, into storages that
  /// `copies` then has, too.
  std::vector<ValueId> TakeShards(std::size_t i, Phase phase,
                                  std::vector<StorageId>& copies);
  /// Those of `shards`, by parameter of the unit, that are gathered in another
  /// type, in that type; kNone if there are none.
  ValueId CastShards(std::size_t i, Phase phase,
                     const std::vector<ValueId>& shards);
  /// Copies the parameters out of the buffer, or splits it into views of them.
  void MakeWhole(std::size_t i, Phase phase);
  void FreeWhole(std::size_t i);
  void FreeBuffer(std::size_t i);
  /// Frees the buffer that a forward pass left to the next unit.
  void FreeWaiting();
  /// @}

  /// @name Gradients of a unit
  /// @{
  void EndBackward(std::size_t i);
  void FreePacked();
  ValueId Pack(std::size_t i, const std::vector<ParameterIndex>& trained);
  /// What was packed in the type of the reduction.
  ValueId CastPacked(std::size_t i, ValueId packed, DType reduced);
  void Scatter(std::size_t i, const std::vector<ParameterIndex>& trained,
               ValueId packed);
  /// The sums over groups of GPUs of shards of gradients, in place.
  std::vector<ValueId> SumReplicas(std::size_t i, std::vector<ValueId> values,
                                   std::int64_t bytes);
  /// A node with a unit's shards of gradients in one new storage.
  Added ToShards(std::size_t i, const std::vector<ParameterIndex>& trained,
                 std::int64_t bytes, std::vector<ValueId> inputs);
  /// Sends a unit's gradients to the host and frees them here.
  void SendGradients(const std::vector<ValueId>& shards, std::int64_t bytes);
  /// Ends the units that autograd did not report, the root first; then the
  /// optimizer reads shards.
  void EndAll();
  /// The host runs the optimizer over what it was sent.
  void StepOnHost();
  /// @}

  std::span<const NodeId> passes_;  ///< First nodes, of a pipeline's GPU.
  StepFacts facts_;
  ShardSizes sizes_;
  ShardedUnits found_;
  std::vector<bool> is_held_;    ///< By storage: now, by a hook.
  std::vector<StorageId> held_;  ///< All that hooks held, in the new graph.
  std::vector<HeldGradient> gradients_;
  std::size_t next_gradient_ = 0;       ///< In gradients_.
  std::vector<StorageId> sums_;         ///< What the next node allocates.
  std::vector<UnitState> states_;       ///< By unit.
  std::vector<ValueId> shards_;         ///< By parameter: its source.
  std::vector<StorageId> whole_;        ///< By parameter, while it is gathered.
  std::vector<ValueId> reduced_;        ///< By parameter: its gradient's shard.
  std::vector<std::size_t> order_;      ///< The root, then units as they ended.
  std::optional<std::size_t> waiting_;  ///< Whose buffer goes next.
  std::vector<StorageId> packed_;       ///< Being reduced.
  ValueId last_copied_ = kNone;
  ValueId last_reduced_ = kNone;
};

}  // namespace foretell::parallel
