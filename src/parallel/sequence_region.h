#pragma once

#include <cstdint>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/tensor_split.h"

namespace foretell::parallel {

/// What GPUs that share sequences do at a node.
enum class SequenceWork : std::uint8_t {
  kWhole,    ///< All of it on each GPU, or its part of the features.
  kTokens,   ///< Each GPU its own tokens.
  kScatter,  ///< A sum over GPUs of which each keeps its own tokens.
  kDefer,    ///< A sum over GPUs that is left to a later exchange.
  kPartial   ///< Moves or adds such terms.
};

/// The part of a step of tensor parallelism that runs on tokens: what follows
/// the sums over GPUs, up to layers and other operators that need all tokens.
class SequenceRegion final : public SplitBoard {
 public:
  /// `graph` is one GPU's step under `spec` with whole sequences. Throws
  /// Error(kInvalidArgument) for layers whose results are not [batch, tokens,
  /// features], and for tokens that GPUs cannot share evenly.
  SequenceRegion(const OperatorGraph& graph, const ParallelSpec& spec);

  SequenceWork WorkOf(NodeId node) const {
    return works_[static_cast<std::size_t>(node)];
  }
  /// True for terms of a sum over GPUs.
  bool IsPartial(ValueId id) const {
    return is_partial_[static_cast<std::size_t>(id)];
  }
  bool Demand(ValueId id, const Split& split) override;

 private:
  void FindTokens();
  Split SplitOf(ValueId id) const;
  void FindSums();
  void Defer(NodeId id);
  void Spread();
  void Visit(NodeId id);
  bool Follow(const Node& node);
  bool FollowNormBackward(const Node& node);
  void KeepLocalSums();
  bool IsReadWhole(StorageId storage, NodeId but) const;

  const ParallelSpec& spec_;
  std::int64_t tokens_ = 0;  ///< In a sequence.
  std::vector<SequenceWork> works_;
  std::vector<bool> is_partial_;              ///< By value.
  std::vector<std::vector<NodeId>> readers_;  ///< By value.
  std::vector<ValueId> fresh_;
};

}  // namespace foretell::parallel
