#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <vector>

namespace foretell {
class JsonFields;
}

namespace foretell::surrogate {

/// A function of the inputs of a table, fitted to its target.
class Model {
 public:
  virtual ~Model() = default;

  /// The target of every row; `inputs` is [rows, columns], with the columns of
  /// the table that the model was fitted to.
  virtual Eigen::VectorXd Predict(const Eigen::MatrixXd& inputs) const = 0;
  /// The function as an expression of Python (and awk, and JavaScript) over the
  /// names of the columns; empty if it has no such form.
  virtual std::string Formula(const std::vector<std::string>& columns) const {
    static_cast<void>(columns);
    return "";
  }
  /// The function as JSON, over `columns` inputs: read into a default model.
  /// Throws what JsonFields throws, and Error(kCorrupt) for parts that do not
  /// fit `columns` or one another.
  virtual void Describe(JsonFields& fields, std::size_t columns) = 0;
};

}  // namespace foretell::surrogate
