#pragma once

#include <map>
#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Writes attention that no fused kernel takes as products and a softmax.
class AttentionDecomposer {
 public:
  AttentionDecomposer(PrimitiveEmitter& emitter, const TorchVersion& torch)
      : emitter_(emitter),
        casts_(torch.Generation() == TorchGeneration::kFloatAttentionFallback) {
  }

  /// Adds the primitives of `node`, or of the backward operator of an attention
  /// added before. False, and nothing added, for every other node and for
  /// attention with a fused kernel.
  bool Add(const Node& node);

 private:
  /// Of an attention, what its backward operator reads. All are [batch · heads,
  /// rows, columns].
  struct Kept {
    ValueId query, key, value;
    ValueId probabilities;
    ValueId dropped;       ///< Probabilities behind the dropout.
    ValueId mask = kNone;  ///< Of the dropout, if there is one.
  };

  StorageId StorageOf(ValueId id) const;
  void AddForward(const Node& node);
  void AddBackward(const Node& node, const Kept& kept);
  ValueId Operand(ValueId id, bool scales);
  ValueId Product(ValueId a, ValueId b, bool a_turned, bool b_turned);
  ValueId Softmax(ValueId scores);
  ValueId AddMask(ValueId scores, const Node& node);
  ValueId Pointwise(std::string target, std::vector<ValueId> inputs);
  ValueId Turned(ValueId id);
  void Result(ValueId old, std::string target, ValueId made);

  PrimitiveEmitter& emitter_;
  bool casts_;  ///< Computes in f32 what has 16 bits.
  /// By storage of the result, which the backward pass may read by a view.
  std::map<StorageId, Kept> kept_;
};

}  // namespace foretell::runtime
