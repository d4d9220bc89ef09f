#include "src/surrogate/variation.h"

#include <array>
#include <iterator>

namespace foretell::surrogate {
namespace {

constexpr Op kOperations[] = {Op::kAdd, Op::kMultiply, Op::kSquare, Op::kCube};
constexpr int kDeepestFirst = 3;
constexpr int kDeepestMutation = 2;

Op DrawOperation(Random& random) {
  return kOperations[random.Below(std::size(kOperations))];
}

ExpressionNode DrawLeaf(int inputs, Random& random) {
  const std::size_t leaf = random.Below(static_cast<std::size_t>(inputs) + 1);
  if (leaf == 0) return {.op = Op::kConstant, .value = random.Between(-1, 1)};
  return {.op = Op::kInput, .input = static_cast<int>(leaf) - 1};
}

/// `expression` with `piece` instead of the subtree at `begin`.
Expression Replace(const Expression& expression, std::size_t begin,
                   const Expression& piece) {
  const auto from = expression.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto to = expression.begin() +
                  static_cast<std::ptrdiff_t>(EndOf(expression, begin));
  Expression result(expression.begin(), from);
  result.insert(result.end(), piece.begin(), piece.end());
  result.insert(result.end(), to, expression.end());
  return result;
}

Expression SubtreeAt(const Expression& expression, std::size_t begin) {
  return {expression.begin() + static_cast<std::ptrdiff_t>(begin),
          expression.begin() +
              static_cast<std::ptrdiff_t>(EndOf(expression, begin))};
}

std::size_t DrawPlace(const Expression& expression, Random& random) {
  return random.Below(expression.size());
}

Expression ReplaceSubtree(const Expression& expression, int inputs,
                          Random& random) {
  return Replace(expression, DrawPlace(expression, random),
                 Draw(inputs, kDeepestMutation, false, random));
}

Expression ReplaceNode(const Expression& expression, int inputs,
                       Random& random) {
  Expression changed = expression;
  ExpressionNode& node = changed[DrawPlace(expression, random)];
  const int operands = CountOperands(node.op);
  if (operands == 0) {
    node = DrawLeaf(inputs, random);
    return changed;
  }
  Op op = DrawOperation(random);
  while (CountOperands(op) != operands) op = DrawOperation(random);
  node.op = op;
  return changed;
}

Expression ReplaceConstants(const Expression& expression, int, Random& random) {
  Expression changed = expression;
  for (const std::size_t place : ConstantsOf(expression)) {
    changed[place].value = random.Between(-1, 1);
  }
  return changed;
}

Expression Insert(const Expression& expression, int inputs, Random& random) {
  const std::size_t place = DrawPlace(expression, random);
  const Expression subtree = SubtreeAt(expression, place);
  const Op op = DrawOperation(random);
  Expression piece = {{.op = op}};
  piece.insert(piece.end(), subtree.begin(), subtree.end());
  if (CountOperands(op) == 2) piece.push_back(DrawLeaf(inputs, random));
  return Replace(expression, place, piece);
}

Expression Shrink(const Expression& expression, int, Random& random) {
  const std::size_t place = DrawPlace(expression, random);
  const int operands = CountOperands(expression[place].op);
  if (operands == 0) return expression;
  std::size_t operand = place + 1;
  if (operands == 2 && random.Below(2) == 1) {
    operand = EndOf(expression, operand);
  }
  return Replace(expression, place, SubtreeAt(expression, operand));
}

using Mutation = Expression (*)(const Expression&, int, Random&);
constexpr std::array<Mutation, 5> kMutations = {
    &ReplaceSubtree, &ReplaceNode, &ReplaceConstants, &Insert, &Shrink};

}  // namespace

bool IsSmallEnough(const Expression& expression) {
  return expression.size() <= kMostNodes && DegreeOf(expression) <= kMostDegree;
}

Expression Draw(int inputs, int depth, bool full, Random& random) {
  const bool ends = depth == 0 || (!full && random.Below(2) == 0);
  if (ends) return {DrawLeaf(inputs, random)};
  Expression expression = {{.op = DrawOperation(random)}};
  for (int i = CountOperands(expression.front().op); i > 0; --i) {
    const Expression operand = Draw(inputs, depth - 1, full, random);
    expression.insert(expression.end(), operand.begin(), operand.end());
  }
  return expression;
}

Expression DrawHalfAndHalf(int inputs, Random& random) {
  const auto depth = 1 + static_cast<int>(random.Below(kDeepestFirst));
  return Draw(inputs, depth, random.Below(2) == 0, random);
}

Expression CrossOver(const Expression& a, const Expression& b, Random& random) {
  const Expression piece = SubtreeAt(b, DrawPlace(b, random));
  return Replace(a, DrawPlace(a, random), piece);
}

Expression Mutate(const Expression& expression, int inputs, Random& random) {
  return kMutations[random.Below(kMutations.size())](expression, inputs,
                                                     random);
}

}  // namespace foretell::surrogate
