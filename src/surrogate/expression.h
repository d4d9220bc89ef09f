#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "src/surrogate/power_sum.h"

namespace foretell::surrogate {

/// Operation of a node. There is no subtraction and no division: a constant may
/// be negative, and nothing can be divided by 0.
enum class Op { kConstant, kInput, kSquare, kCube, kAdd, kMultiply };

/// Operands of an operation: 0, 1 or 2.
int CountOperands(Op op);

/// One node.
struct ExpressionNode {
  Op op = Op::kConstant;
  int input = 0;     ///< Column, for kInput.
  double value = 0;  ///< For kConstant.
};

/// An expression tree in prefix order: a node comes before its operands, and a
/// subtree is a run of nodes.
using Expression = std::vector<ExpressionNode>;

/// One past the last node of the subtree that begins at `begin`.
std::size_t EndOf(const Expression& expression, std::size_t begin);

/// Highest sum of powers that the expression multiplies out to.
int DegreeOf(const Expression& expression);

/// Places of the constants.
std::vector<std::size_t> ConstantsOf(const Expression& expression);

/// The expression multiplied out, for inputs and a target that were divided by
/// `scales` and `target_scale`: in the units of the table. `scales` are above
/// 0, one per column.
PowerSum MultiplyOut(const Expression& expression,
                     const std::vector<double>& scales, double target_scale);

/// Computes expressions over the rows of one table, all rows at once, in
/// buffers that are kept.
class Evaluator {
 public:
  /// `inputs`: [rows, columns]; must outlive this object.
  explicit Evaluator(const Eigen::MatrixXd& inputs) : inputs_(inputs) {}

  Eigen::Index rows() const { return inputs_.rows(); }
  /// The value in every row; valid until the next call.
  Eigen::Ref<const Eigen::ArrayXd> Value(const Expression& expression);
  /// Derivatives of every row's value by the constants at `places`, as
  /// [rows, places], by one pass back from the root.
  Eigen::MatrixXd Gradient(const Expression& expression,
                           const std::vector<std::size_t>& places);

 private:
  void Compute(const Expression& expression);
  void PassBack(const Expression& expression, std::size_t node);

  const Eigen::MatrixXd& inputs_;
  Eigen::ArrayXXd values_;  ///< [rows, nodes]
  Eigen::ArrayXXd slopes_;  ///< [rows, nodes]: of the root by the node.
};

}  // namespace foretell::surrogate
