#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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
  /// JSON from which model_json.h restores the function.
  virtual nlohmann::ordered_json ToJson() const = 0;
};

}  // namespace foretell::surrogate
