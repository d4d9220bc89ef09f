#pragma once

#include <optional>
#include <vector>

#include "src/parallel/shard_sizes.h"
#include "src/parallel/sharded_units.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

/// Rewrites the step for kFsdp, kFsdp1 and kZero2: sharded_step.cc has the
/// order of events, sharded_parameters.cc and sharded_gradients.cc the events.
class ShardedStep final : public StepRewriter {
 public:
  ShardedStep(const OperatorGraph& graph, const ParallelSpec& spec,
              std::span<const TrainedParameter> trained);

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
  bool HasParameters(std::size_t unit) const {
    return !found_.units[unit].parameters.empty();
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override;
  TensorType TypeOf(ValueId id) const override;
  /// Gradients are freed when they are packed.
  bool Keeps(const MemoryEvent& event) const override;
  void Begin() override;
  void BeforeNode(NodeId id) override;
  void AfterNode(NodeId id) override;

  void BeginForward(std::size_t i);
  void EndForward(std::size_t i);
  /// The root's parameters are gathered; requests those of the last unit.
  void BeginNetworkBackward();
  /// Requests the unit before the one at `place` in forward order; the root is
  /// first and already has its parameters.
  void Prefetch(std::size_t place);
  void BeginBackward(std::size_t i);

  /// @name Parameters of a unit
  /// @{
  void Gather(std::size_t i, Phase phase);
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
  void Scatter(std::size_t i, const std::vector<ParameterIndex>& trained,
               ValueId packed);
  /// Ends the units that autograd did not report, the root first; then the
  /// optimizer reads shards.
  void EndAll();
  /// @}

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

}  // namespace foretell::parallel
