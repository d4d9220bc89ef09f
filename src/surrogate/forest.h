#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/random.h"
#include "src/surrogate/model.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// A node of a regression tree. Nodes are in preorder: rows with an input <=
/// the threshold continue at the next one.
struct TreeNode {
  int column = -1;   ///< Input that is compared; -1: a leaf.
  double value = 0;  ///< Threshold; the value of a leaf.
  int right = -1;    ///< Node for the other rows; -1: a leaf.
};
using Tree = std::vector<TreeNode>;

/// The mean of many regression trees.
class Forest final : public Model {
 public:
  Forest() = default;
  explicit Forest(std::vector<Tree> trees) : trees_(std::move(trees)) {}

  const std::vector<Tree>& trees() const { return trees_; }
  Eigen::VectorXd Predict(const Eigen::MatrixXd& inputs) const override;
  void Describe(JsonFields& fields, std::size_t columns) override;

 private:
  std::vector<Tree> trees_;
};

/// How a forest is grown.
enum class ForestKind {
  kRandom,  ///< Rows are drawn with replacement, splits are the best ones.
  kExtra,   ///< All rows; the best of one random split per column.
};

/// Grows up to 1,000 trees, fewer for many rows, with scikit-learn's defaults:
/// squared error, all columns considered, leaves of equal values.
Forest GrowForest(const Table& table, ForestKind kind, std::uint64_t seed);

}  // namespace foretell::surrogate
