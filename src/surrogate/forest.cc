#include "src/surrogate/forest.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/core/json_fields.h"
#include "src/core/numbers.h"

namespace foretell::surrogate {
namespace {

constexpr std::size_t kMostTrees = 1000;
/// Nodes of a forest: three numbers each, and a document may have a million.
constexpr std::size_t kMostForestNodes = 200'000;

struct Cut {
  int column = -1;
  double threshold = 0;
  double gain = 0;
};

/// Grows one tree.
class Grower {
 public:
  Grower(const Table& table, ForestKind kind, Random& random)
      : table_(table), kind_(kind), random_(random) {}

  Tree Grow() {
    std::vector<Eigen::Index> rows(static_cast<std::size_t>(table_.rows()));
    std::iota(rows.begin(), rows.end(), 0);
    if (kind_ == ForestKind::kRandom) {
      const std::size_t count = rows.size();
      for (Eigen::Index& row : rows) {
        row = static_cast<Eigen::Index>(random_.Below(count));
      }
    }
    AddNode(std::move(rows));
    return std::move(tree_);
  }

 private:
  double InputOf(Eigen::Index row, int column) const {
    return table_.inputs(row, column);
  }

  double Mean(const std::vector<Eigen::Index>& rows) const {
    double sum = 0;
    for (const Eigen::Index row : rows) sum += table_.values[row];
    return sum / static_cast<double>(rows.size());
  }

  void AddNode(std::vector<Eigen::Index> rows) {
    const std::size_t at = tree_.size();
    tree_.push_back({.value = Mean(rows)});
    const Cut cut =
        kind_ == ForestKind::kRandom ? BestCut(rows) : LuckyCut(rows);
    if (cut.column < 0) return;
    const auto middle = std::ranges::partition(rows, [&](Eigen::Index row) {
      return InputOf(row, cut.column) <= cut.threshold;
    });
    std::vector<Eigen::Index> right(middle.begin(), middle.end());
    rows.erase(middle.begin(), middle.end());
    tree_[at].column = cut.column;
    tree_[at].value = cut.threshold;
    AddNode(std::move(rows));
    tree_[at].right = static_cast<int>(tree_.size());
    AddNode(std::move(right));
  }

  int columns() const { return static_cast<int>(table_.inputs.cols()); }

  /// What squared errors lose: between-group sums of squares.
  static double Gain(double left, double left_count, double right,
                     double right_count) {
    const double apart = left / left_count - right / right_count;
    return apart * apart * left_count * right_count /
           (left_count + right_count);
  }

  Cut BestCut(std::vector<Eigen::Index>& rows) const {
    Cut best;
    const double total = Mean(rows) * static_cast<double>(rows.size());
    for (int column = 0; column < columns(); ++column) {
      std::ranges::sort(rows, {},
                        [&](Eigen::Index row) { return InputOf(row, column); });
      double left = 0;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        left += table_.values[rows[i - 1]];
        const double below = InputOf(rows[i - 1], column);
        const double above = InputOf(rows[i], column);
        if (!(below < above)) continue;
        const double gain = Gain(left, static_cast<double>(i), total - left,
                                 static_cast<double>(rows.size() - i));
        if (gain > best.gain)
          best = {column, below + (above - below) / 2, gain};
      }
    }
    return best;
  }

  Cut LuckyCut(const std::vector<Eigen::Index>& rows) {
    Cut best;
    for (int column = 0; column < columns(); ++column) {
      double low = std::numeric_limits<double>::infinity();
      double high = -low;
      for (const Eigen::Index row : rows) {
        low = std::min(low, InputOf(row, column));
        high = std::max(high, InputOf(row, column));
      }
      if (!(low < high)) continue;
      const double threshold = random_.Between(low, high);
      const double gain = GainOf(rows, column, threshold);
      if (gain > best.gain) best = {column, threshold, gain};
    }
    return best;
  }

  double GainOf(const std::vector<Eigen::Index>& rows, int column,
                double threshold) const {
    double sums[2] = {};
    double counts[2] = {};
    for (const Eigen::Index row : rows) {
      const int side = InputOf(row, column) <= threshold ? 0 : 1;
      sums[side] += table_.values[row];
      counts[side] += 1;
    }
    if (counts[0] == 0 || counts[1] == 0) return 0;
    return Gain(sums[0], counts[0], sums[1], counts[1]);
  }

  const Table& table_;
  ForestKind kind_;
  Random& random_;
  Tree tree_;
};

double Ask(const Tree& tree, const Eigen::MatrixXd& inputs, Eigen::Index row) {
  std::size_t at = 0;
  while (tree[at].column >= 0) {
    const bool goes_left = inputs(row, tree[at].column) <= tree[at].value;
    at = goes_left ? at + 1 : static_cast<std::size_t>(tree[at].right);
  }
  return tree[at].value;
}

void CheckTree(JsonFields& fields, const Tree& tree, std::size_t columns) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto& [column, value, right] = tree[i];
    const bool leads_on = column < static_cast<int>(columns) &&
                          right > static_cast<int>(i) + 1 &&
                          right < static_cast<int>(tree.size());
    if (column < 0 || leads_on) continue;
    fields.Require(false, "right",
                   fmt::format("[{}] is {} of {}, for column {}", i, right,
                               Counted(tree.size(), "node"), column));
  }
}

/// Nodes by field: a list of columns, of values, of right nodes.
void DescribeTree(JsonFields& fields, Tree& tree, std::size_t columns) {
  std::vector<int> column;
  std::vector<double> value;
  std::vector<int> right;
  for (const TreeNode& node : tree) {
    column.push_back(node.column);
    value.push_back(node.value);
    right.push_back(node.right);
  }
  fields.Value("column", column);
  fields.Value("value", value);
  fields.Value("right", right);
  if (!fields.IsReading()) return;
  const std::size_t nodes = column.size();
  fields.Require(nodes > 0 && value.size() == nodes && right.size() == nodes,
                 "column",
                 fmt::format("has {} next to {} and {}", Counted(nodes, "node"),
                             value.size(), right.size()));
  for (std::size_t i = 0; i < nodes; ++i) {
    tree.push_back({column[i], value[i], right[i]});
  }
  CheckTree(fields, tree, columns);
}

}  // namespace

Eigen::VectorXd Forest::Predict(const Eigen::MatrixXd& inputs) const {
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(inputs.rows());
  for (Eigen::Index row = 0; row < inputs.rows(); ++row) {
    for (const Tree& tree : trees_) mean[row] += Ask(tree, inputs, row);
  }
  return mean / static_cast<double>(trees_.size());
}

void Forest::Describe(JsonFields& fields, std::size_t columns) {
  fields.Objects("trees", trees_, [&](JsonFields& in, Tree& tree) {
    DescribeTree(in, tree, columns);
  });
  fields.Require(!trees_.empty(), "trees", "is empty");
}

Forest GrowForest(const Table& table, ForestKind kind, std::uint64_t seed) {
  const auto rows = static_cast<std::size_t>(table.rows());
  const std::size_t count =
      std::clamp<std::size_t>(kMostForestNodes / (2 * rows), 1, kMostTrees);
  Random random(seed);
  std::vector<Tree> trees;
  for (std::size_t i = 0; i < count; ++i) {
    trees.push_back(Grower(table, kind, random).Grow());
  }
  return Forest(std::move(trees));
}

}  // namespace foretell::surrogate
