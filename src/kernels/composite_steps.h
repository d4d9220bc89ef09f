#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foretell/graph.h"
#include "src/kernels/expansion.h"
#include "src/kernels/strides.h"

namespace foretell::cost {

/// The ATen calls that one operator makes inside, written down as a small graph
/// of their own: the operator's operands are its sources.
///
/// Methods return the tensor that a call makes. None checks that shapes fit
/// together: the author of the steps copies them from PyTorch's source. Throws
/// Error(kInvalidArgument) for a tensor that no graph can hold.
class CompositeSteps {
 public:
  /// Both arguments must outlive the steps.
  CompositeSteps(const Expansion& outer, const ExpandedNode& expanded);

  const Node& node() const { return expanded_.node; }
  const TorchVersion& torch() const { return outer_.mode.torch; }
  /// Tensors among the operator's arguments, in order.
  std::size_t num_operands() const { return node().inputs.size(); }
  bool TakesTwo() const { return num_operands() >= 2; }
  /// The `index`-th of them; the same tensor twice is one value.
  ValueId Operand(std::size_t index);
  /// Whether the `index`-th argument lies contiguously.
  bool IsContiguous(std::size_t index) const {
    return outer_.tensors.IsContiguous(node().inputs[index]);
  }
  /// Shape and element type of the operator's first result.
  const TensorType& result() const;

  Shape ShapeOf(ValueId id) const { return builder_.value(id).type.shape; }
  std::size_t RankOf(ValueId id) const { return ShapeOf(id).size(); }
  DType TypeOf(ValueId id) const { return builder_.value(id).type.dtype; }
  /// Size of a dimension, counted from the end when negative; 1 if it does not
  /// exist.
  std::int64_t Size(ValueId id, std::int64_t dim) const;

  /// A call whose result of `shape` lies in memory of its own; its type is
  /// that of the first operand unless `dtype` says otherwise. Without operands
  /// the type is that of the operator's result.
  ValueId Call(std::string target, std::vector<ValueId> operands, Shape shape,
               Attributes attributes = {}, std::optional<DType> dtype = {});
  /// A further result of the last call.
  ValueId AlsoReturns(Shape shape);
  /// A call that writes to its first operand; returns its new value.
  ValueId InPlace(std::string target, std::vector<ValueId> operands);
  /// A view of `operand`; the rules of views decide whether it has to copy. A
  /// copy of repeated elements (`expand`) has memory for each of them.
  ValueId View(std::string target, ValueId operand, Shape shape,
               Attributes attributes = {});
  /// Memory that calls wrote part by part, seen as one contiguous tensor.
  ValueId Memory(Shape shape, DType dtype);

  /// Calls from here on are made `times` times each (>= 0), until the next.
  void Repeat(std::int64_t times) { times_ = times; }
  /// `id` is the operator's next result.
  void Return(ValueId id) { returned_.push_back(id); }

  /// True when something was returned and every returned tensor has the shape
  /// of the result that it replaces.
  bool ReturnsFit() const;
  /// Appends the steps' kernels to those of `outer`, in the name of the
  /// operator, and sets the layout of its results. Call it once, at the end.
  void Emit(Expansion& outer);

 private:
  ValueId AddSource(ValueId id);
  NodeId AddNode(std::string target, std::vector<ValueId> operands,
                 Attributes attributes);
  std::string NameOf(std::size_t number) const;
  ValueId AddResult(NodeId node, TensorType type, StorageId storage);
  void EnterStates(const Expansion& outer, Expansion& inner) const;
  void LeaveStates(const Expansion& inner, Expansion& outer) const;

  const Expansion& outer_;
  const ExpandedNode& expanded_;
  GraphBuilder builder_;
  std::unordered_map<ValueId, ValueId> sources_;  ///< Outer to inner values.
  std::vector<std::int64_t> repeats_;             ///< Per node.
  std::vector<ValueId> returned_;
  std::int64_t times_ = 1;
  std::size_t num_values_ = 0;
};

}  // namespace foretell::cost
