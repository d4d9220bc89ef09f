#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/surrogate/evolve.h"
#include "src/surrogate/model.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// Kinds of models, in the order of their comparison.
enum class Method {
  kSymbolic,
  kLinear,
  kPolynomial,
  kPiecewise,
  kForest,
  kExtraTrees,
  kNetwork
};
/// "symbolic", "linear", "polynomial", "piecewise", "forest", "extra-trees",
/// "network".
std::string_view MethodName(Method method);
std::optional<Method> ParseMethod(std::string_view name);
std::vector<Method> AllMethods();
/// True if models of this kind can be written as a formula.
bool HasFormula(Method method);

/// A table as a function.
struct FittedModel {
  Method method = Method::kSymbolic;
  std::string target;
  std::vector<std::string> columns;
  std::shared_ptr<Model> model;  ///< Not changed by copies.
  /// Least and largest of each column in the rows of the fit; beyond them a
  /// model extrapolates.
  std::vector<double> lowest;
  std::vector<double> highest;
  std::vector<SizedFormula> front;  ///< Empty unless kSymbolic.
  int rows = 0;                     ///< Of the fit.
};

/// Fits a model to all rows of a table. `options` are of symbolic regression;
/// the others use its seed.
FittedModel FitModel(const Table& table, Method method,
                     const EvolveOptions& options);

/// Target error of a formula used instead of a simulation, share of 1.
inline constexpr double kWantedError = 0.01;

/// Error of a model on held-out rows.
struct HeldOutError {
  int rows = 0;
  double mean = 0;     ///< Share of 1.
  double largest = 0;  ///< Share of 1.
  int close =
      0;  ///< Rows with an error of at most kWantedError. All rows of this
          ///< value or larger are within it; empty: the largest is not.
  std::optional<double> close_from = {};
};
HeldOutError JudgeModel(const Model& model, const Table& held_out);

}  // namespace foretell::surrogate
