#include "src/surrogate/expression.h"

#include <algorithm>
#include <map>

namespace foretell::surrogate {
namespace {

using Powers = std::vector<int>;
using Sum = std::map<Powers, double>;

Sum Multiply(const Sum& a, const Sum& b) {
  Sum product;
  for (const auto& [left, factor] : a) {
    for (const auto& [right, other] : b) {
      Powers powers = left;
      for (std::size_t i = 0; i < powers.size(); ++i) powers[i] += right[i];
      product[powers] += factor * other;
    }
  }
  return product;
}

/// Multiplies out the subtree at `at`, and moves `at` behind it.
Sum Expand(const Expression& expression, const std::vector<double>& scales,
           std::size_t& at) {
  const ExpressionNode& node = expression[at++];
  Powers powers(scales.size(), 0);
  if (node.op == Op::kConstant) return {{powers, node.value}};
  if (node.op == Op::kInput) {
    const auto column = static_cast<std::size_t>(node.input);
    powers[column] = 1;
    return {{powers, 1 / scales[column]}};
  }
  Sum first = Expand(expression, scales, at);
  if (node.op == Op::kSquare) return Multiply(first, first);
  if (node.op == Op::kCube) return Multiply(Multiply(first, first), first);
  const Sum second = Expand(expression, scales, at);
  if (node.op == Op::kMultiply) return Multiply(first, second);
  for (const auto& [key, value] : second) first[key] += value;
  return first;
}

int DegreeAt(const Expression& expression, std::size_t& at) {
  const Op op = expression[at++].op;
  if (op == Op::kConstant) return 0;
  if (op == Op::kInput) return 1;
  const int first = DegreeAt(expression, at);
  if (op == Op::kSquare) return 2 * first;
  if (op == Op::kCube) return 3 * first;
  const int second = DegreeAt(expression, at);
  return op == Op::kAdd ? std::max(first, second) : first + second;
}

Eigen::Index Column(std::size_t node) {
  return static_cast<Eigen::Index>(node);
}

}  // namespace

int CountOperands(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kInput:
      return 0;
    case Op::kSquare:
    case Op::kCube:
      return 1;
    case Op::kAdd:
    case Op::kMultiply:
      return 2;
  }
  return 0;
}

std::size_t EndOf(const Expression& expression, std::size_t begin) {
  int missing = 1;
  while (missing > 0) missing += CountOperands(expression[begin++].op) - 1;
  return begin;
}

int DegreeOf(const Expression& expression) {
  std::size_t at = 0;
  return DegreeAt(expression, at);
}

std::vector<std::size_t> ConstantsOf(const Expression& expression) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (expression[i].op == Op::kConstant) places.push_back(i);
  }
  return places;
}

PowerSum MultiplyOut(const Expression& expression,
                     const std::vector<double>& scales, double target_scale) {
  std::size_t at = 0;
  std::vector<Term> terms;
  for (const auto& [powers, value] : Expand(expression, scales, at)) {
    terms.push_back({value * target_scale, powers});
  }
  return PowerSum(std::move(terms));
}

void Evaluator::Compute(const Expression& expression) {
  const Eigen::Index count = std::ssize(expression);
  if (values_.cols() < count) values_.resize(rows(), count);
  for (std::size_t i = expression.size(); i-- > 0;) {
    const ExpressionNode& node = expression[i];
    auto value = values_.col(Column(i));
    if (node.op == Op::kConstant) {
      value.setConstant(node.value);
      continue;
    }
    if (node.op == Op::kInput) {
      value = inputs_.col(node.input).array();
      continue;
    }
    const auto first = values_.col(Column(i + 1));
    if (node.op == Op::kSquare) {
      value = first.square();
    } else if (node.op == Op::kCube) {
      value = first.cube();
    } else {
      const auto second = values_.col(Column(EndOf(expression, i + 1)));
      if (node.op == Op::kAdd) value = first + second;
      if (node.op == Op::kMultiply) value = first * second;
    }
  }
}

Eigen::Ref<const Eigen::ArrayXd> Evaluator::Value(
    const Expression& expression) {
  Compute(expression);
  return values_.col(0);
}

void Evaluator::PassBack(const Expression& expression, std::size_t node) {
  const Op op = expression[node].op;
  if (CountOperands(op) == 0) return;
  const auto slope = slopes_.col(Column(node));
  const Eigen::Index first = Column(node + 1);
  if (op == Op::kSquare) {
    slopes_.col(first) = slope * 2 * values_.col(first);
    return;
  }
  if (op == Op::kCube) {
    slopes_.col(first) = slope * 3 * values_.col(first).square();
    return;
  }
  const Eigen::Index second = Column(EndOf(expression, node + 1));
  if (op == Op::kAdd) {
    slopes_.col(first) = slope;
    slopes_.col(second) = slope;
  } else {
    slopes_.col(first) = slope * values_.col(second);
    slopes_.col(second) = slope * values_.col(first);
  }
}

Eigen::MatrixXd Evaluator::Gradient(const Expression& expression,
                                    const std::vector<std::size_t>& places) {
  Compute(expression);
  if (slopes_.cols() < std::ssize(expression)) {
    slopes_.resize(rows(), std::ssize(expression));
  }
  slopes_.col(0).setOnes();
  for (std::size_t i = 0; i < expression.size(); ++i) PassBack(expression, i);
  Eigen::MatrixXd gradient(rows(), std::ssize(places));
  for (std::size_t i = 0; i < places.size(); ++i) {
    gradient.col(Column(i)) = slopes_.col(Column(places[i])).matrix();
  }
  return gradient;
}

}  // namespace foretell::surrogate
