#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/strides.h"

namespace foretell::runtime {

/// Writes a graph that computes what another does, tensor by tensor, with other
/// operators.
class PrimitiveEmitter {
 public:
  /// `channels_last`: results of convolutions lie channels-last, and those of
  /// operators element by element as their operands. The new graph lacks the
  /// sources that `left_out` has, by value.
  PrimitiveEmitter(const OperatorGraph& graph, GraphInfo info,
                   bool channels_last, const std::vector<bool>& left_out = {});

  const OperatorGraph& graph() const { return graph_; }
  /// The tensor of the new graph that replaces `id`.
  ValueId Now(ValueId id) const;
  /// Lets `now` replace `id`; the storage of a gradient keeps that role.
  void Set(ValueId id, ValueId now);
  const TensorType& TypeOf(ValueId now) const {
    return builder_.value(now).type;
  }

  /// Adds a buffer of its own.
  ValueId AddConstant(TensorType type, Strides strides);
  /// What Emit adds belongs to `node`.
  void Begin(const Node& node);
  /// Of what Emit adds.
  Phase phase() const { return node_->phase; }
  /// `made`, a result of the old graph that is not yet written, will lie where
  /// `of` lies, which is at least as large. It outlives the pass if either
  /// does.
  void ShareStorage(ValueId made, ValueId of);
  /// Adds an operator on tensors of the new graph whose one result has `type`
  /// in a storage of its own.
  ValueId Emit(std::string target, std::vector<ValueId> inputs, TensorType type,
               Attributes attributes = {});
  /// The same, with the type and strides of `like`, a tensor of the old graph.
  ValueId EmitLike(std::string target, std::vector<ValueId> inputs,
                   ValueId like, Attributes attributes = {});
  /// As Emit with several results.
  std::vector<ValueId> EmitAll(std::string target, std::vector<ValueId> inputs,
                               const std::vector<TensorType>& types,
                               Attributes attributes = {});
  /// Adds a copy of `of`: of an image channels-last, or in the row-major order.
  ValueId Clone(ValueId of, bool channels_last);
  /// Adds `of` as a tensor of another shape, by the view `target`.
  ValueId View(ValueId of, TensorType type, std::string target = "view",
               Attributes attributes = {});
  /// Adds the first elements of `of` in every dimension, without a copy; in
  /// its order, so it counts as a view.
  ValueId FirstOf(ValueId of, TensorType type);
  /// Adds a copy of `of` as a part of `whole`, a result of the old graph: in
  /// its storage and memory format.
  ValueId EmitSlice(ValueId whole, ValueId of);
  /// Adds an operator that writes into the tensor `into`, and returns that.
  ValueId EmitInto(ValueId into, std::string target,
                   std::vector<ValueId> inputs, Attributes attributes = {});
  /// Adds `node` itself, or a call inside one: results that share a storage
  /// with a tensor of the graph go on to.
  void Copy(const Node& node, bool with_calls);
  /// Adds `node` without writing into its operand: its results have storages of
  /// their own.
  void CopyFunctional(const Node& node, std::string target);

  /// Adds a kernel of tensors of the new graph; `results` are the old graph's.
  NodeId AddKernel(std::string target, std::vector<ValueId> inputs,
                   const std::vector<ValueId>& results,
                   Attributes attributes = {});
  /// Adds `node` as a call inside the kernel `added`, on tensors of the new
  /// graph. Results that are none of the kernel's are inner tensors, known to
  /// Inside until ForgetInside.
  void AddInside(NodeId added, const Node& node, std::vector<ValueId> inputs);
  /// The tensor inside the kernel `added` that replaces `id`, or a new one for
  /// a view of what is inside.
  ValueId Inside(NodeId added, ValueId id);
  void ForgetInside() { inside_.clear(); }

  /// Marks the ends and returns the graph, with derived lifetimes.
  OperatorGraph Finish();

 private:
  StorageId StorageNow(StorageId id);
  Strides StridesFor(std::string_view target, std::span<const ValueId> inputs,
                     const TensorType& type) const;
  /// Of a permutation of images; empty for every other operator.
  Strides PermutedStrides(const Node& node,
                          const std::vector<ValueId>& inputs) const;
  StorageId AddStorage(const TensorType& type);
  void CopyCalls(const Node& node, NodeId added);
  /// The tensor that replaces `id`, or a new one inside the node `added`.
  ValueId NowOrInner(NodeId added, ValueId id);

  const OperatorGraph& graph_;
  GraphBuilder builder_;
  bool channels_last_;
  const Node* node_ = nullptr;
  std::map<ValueId, ValueId> inside_;
  StorageId kernel_storage_ = kNone;   ///< Of the newest kernel's result.
  std::vector<ValueId> value_of_;      ///< By value of the old graph.
  std::vector<StorageId> storage_of_;  ///< By storage of the old graph.
};

}  // namespace foretell::runtime
