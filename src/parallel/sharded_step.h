#pragma once

#include <optional>
#include <vector>

#include "src/parallel/shard_sizes.h"
#include "src/parallel/sharded_units.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

/// Rewrites the step for kFsdp and kZero2: sharded_step.cc has when things
/// happen, sharded_parameters.cc and sharded_gradients.cc what happens.
class ShardedStep final : public StepRewriter {
 public:
  ShardedStep(const OperatorGraph& graph, const ParallelSpec& spec,
              std::span<const TrainedParameter> trained);

 private:
  /// What a unit has of its own at the moment.
  struct UnitState {
    StorageId buffer = kNone;  ///< What was gathered; kNone: nothing.
    ValueId gathered = kNone;
    bool is_whole = false;
    bool is_done = false;  ///< With its backward pass.
  };

  const Parameter& At(ParameterIndex index) const {
    return facts_.parameters[IndexOf(index)];
  }
  bool HasParameters(std::size_t unit) const {
    return !found_.units[unit].parameters.empty();
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override;
  TensorType TypeOf(ValueId id) const override;
  /// Gradients die where they are packed.
  bool Keeps(const MemoryEvent& event) const override;
  void Begin() override;
  void BeforeNode(NodeId id) override;
  void AfterNode(NodeId id) override;

  void BeginForward(std::size_t i);
  void EndForward(std::size_t i);
  /// The root's parameters are there; the last unit's are asked for.
  void BeginNetworkBackward();
  /// Asks for the unit before the one at `place` of the forward order; the root
  /// is first there and has its parameters.
  void Prefetch(std::size_t place);
  void BeginBackward(std::size_t i);

  /// @name Parameters of a unit
  /// @{
  void Gather(std::size_t i, Phase phase);
  void CopyOut(std::size_t i, Phase phase);
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
  /// Ends the units that autograd did not report, the root first; the optimizer
  /// reads shards from here on.
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
