#include "src/surrogate/constants.h"

#include <unsupported/Eigen/NonLinearOptimization>

namespace foretell::surrogate {
namespace {

constexpr int kMostEvaluations = 12;

/// Relative errors of an expression and their derivatives, as Eigen requires
/// them: its names, and 0 for success.
struct RelativeErrors {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum {
    InputsAtCompileTime = Eigen::Dynamic,
    ValuesAtCompileTime = Eigen::Dynamic
  };

  int inputs() const { return static_cast<int>(places.size()); }
  int values() const { return static_cast<int>(truth.size()); }

  void Put(const Eigen::VectorXd& constants) const {
    for (std::size_t i = 0; i < places.size(); ++i) {
      expression[places[i]].value = constants[static_cast<Eigen::Index>(i)];
    }
  }
  int operator()(const Eigen::VectorXd& constants,
                 Eigen::VectorXd& errors) const {
    Put(constants);
    errors = evaluator.Value(expression) / truth.array() - 1;
    return 0;
  }
  int df(const Eigen::VectorXd& constants, Eigen::MatrixXd& slopes) const {
    Put(constants);
    slopes = evaluator.Gradient(expression, places);
    slopes.array().colwise() /= truth.array();
    return 0;
  }

  Expression& expression;
  Evaluator& evaluator;
  const Eigen::VectorXd& truth;
  std::vector<std::size_t> places;
};

}  // namespace

void FitConstants(Expression& expression, Evaluator& evaluator,
                  const Eigen::VectorXd& values) {
  RelativeErrors errors{expression, evaluator, values, ConstantsOf(expression)};
  if (errors.places.empty() || errors.inputs() > errors.values()) return;
  const Expression before = expression;
  Eigen::VectorXd constants(errors.inputs());
  for (std::size_t i = 0; i < errors.places.size(); ++i) {
    constants[static_cast<Eigen::Index>(i)] =
        expression[errors.places[i]].value;
  }
  Eigen::LevenbergMarquardt<RelativeErrors> search(errors);
  search.parameters.maxfev = kMostEvaluations;
  search.minimize(constants);
  if (constants.allFinite()) {
    errors.Put(constants);
  } else {
    expression = before;
  }
}

}  // namespace foretell::surrogate
