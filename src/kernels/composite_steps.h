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
  /// Tensors among the operator's arguments, in order.
  std::size_t num_operands() const { return node().inputs.size(); }
  /// The `index`-th of them; the same tensor twice is one value.
  ValueId Operand(std::size_t index);
  /// Shape and element type of the operator's first result.
  const TensorType& result() const;

  Shape ShapeOf(ValueId id) const { return builder_.value(id).type.shape; }
  std::size_t RankOf(ValueId id) const { return ShapeOf(id).size(); }
  DType TypeOf(ValueId id) const { return builder_.value(id).type.dtype; }
  /// Size of a dimension, counted from the end when negative; 1 if it does not
  /// exist.
  std::int64_t Size(ValueId id, std::int64_t dim) const;

  Strides StridesOf(ValueId id) const {
    return foretell::StridesOf(builder_.value(id));
  }

  /// A call whose result of `shape` lies in memory of its own, row-major unless
  /// `strides` say otherwise; its type is that of the first operand, or of the
  /// operator's result without operands.
  ValueId Call(std::string target, std::vector<ValueId> operands, Shape shape,
               Attributes attributes = {}, Strides strides = {});
  /// A further result of the last call.
  ValueId AlsoReturns(Shape shape);
  /// `operand` seen with other sizes; a copy of it without `strides`.
  ValueId View(std::string target, ValueId operand, Shape shape,
               std::optional<Strides> strides);
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
  /// operator. Call it once, at the end.
  void Emit(Expansion& outer);

 private:
  ValueId AddSource(ValueId id);
  NodeId AddNode(std::string target, std::vector<ValueId> operands,
                 Attributes attributes);
  std::string NameOf(std::size_t number) const;
  ValueId AddResult(NodeId node, TensorType type, StorageId storage,
                    Strides strides = {});

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
