#include "src/surrogate/fit_model.h"

#include <limits>
#include <utility>

#include "src/core/name_table.h"
#include "src/surrogate/forest.h"
#include "src/surrogate/network_model.h"
#include "src/surrogate/piecewise.h"
#include "src/surrogate/polynomial.h"

namespace foretell::surrogate {
namespace {

constexpr NameTable<7> kModelNames = {"symbolic",  "linear", "polynomial",
                                      "piecewise", "forest", "extra-trees",
                                      "network"};

/// Coefficients are rounded as long as no row moves by more than this share.
constexpr double kRounding = 1e-4;

std::unique_ptr<Model> Rounded(const PowerSum& sum, const Table& table) {
  return std::make_unique<PowerSum>(sum.Rounded(table.inputs, kRounding));
}

void FitSymbolic(const Table& table, const EvolveOptions& options,
                 FittedModel& fitted) {
  Evolution evolution = Evolve(table, options);
  for (SizedFormula& one : evolution.front) {
    one.formula = one.formula.Rounded(table.inputs, kRounding);
  }
  fitted.model = std::make_unique<PowerSum>(evolution.formula());
  fitted.front = std::move(evolution.front);
}

std::unique_ptr<Model> FitOther(const Table& table, Method method,
                                std::uint64_t seed) {
  switch (method) {
    case Method::kLinear:
      return Rounded(FitLinear(table), table);
    case Method::kPiecewise:
      return std::make_unique<BentSum>(
          FitPiecewise(table).Rounded(table.inputs, kRounding));
    case Method::kForest:
      return std::make_unique<Forest>(
          GrowForest(table, ForestKind::kRandom, seed));
    case Method::kExtraTrees:
      return std::make_unique<Forest>(
          GrowForest(table, ForestKind::kExtra, seed));
    case Method::kNetwork:
      return std::make_unique<NetworkModel>(TrainNetwork(table, seed));
    case Method::kSymbolic:
    case Method::kPolynomial:
      break;
  }
  return Rounded(FitPolynomial(table), table);
}

}  // namespace

std::string_view MethodName(Method method) {
  return NameIn(kModelNames, method);
}

std::optional<Method> ParseMethod(std::string_view name) {
  return FindIn<Method>(kModelNames, name);
}

std::vector<Method> AllMethods() {
  std::vector<Method> methods;
  for (const std::string_view name : kModelNames) {
    methods.push_back(*ParseMethod(name));
  }
  return methods;
}

bool HasFormula(Method method) {
  return method == Method::kSymbolic || method == Method::kLinear ||
         method == Method::kPolynomial || method == Method::kPiecewise;
}

FittedModel FitModel(const Table& table, Method method,
                     const EvolveOptions& options) {
  FittedModel fitted{.method = method,
                     .target = table.target,
                     .columns = table.columns,
                     .rows = static_cast<int>(table.rows())};
  for (Eigen::Index i = 0; i < table.inputs.cols(); ++i) {
    fitted.lowest.push_back(table.inputs.col(i).minCoeff());
    fitted.highest.push_back(table.inputs.col(i).maxCoeff());
  }
  if (method == Method::kSymbolic) {
    FitSymbolic(table, options, fitted);
  } else {
    fitted.model = FitOther(table, method, options.seed);
  }
  return fitted;
}

HeldOutError JudgeModel(const Model& model, const Table& held_out) {
  const Eigen::VectorXd predicted = model.Predict(held_out.inputs);
  HeldOutError error{.rows = static_cast<int>(held_out.rows()),
                     .mean = MeanError(predicted, held_out.values),
                     .largest = LargestError(predicted, held_out.values)};
  const Eigen::ArrayXd values = held_out.values.array();
  const auto is_close =
      (predicted.array() - values).abs() <= kWantedError * values.abs();
  error.close = static_cast<int>(is_close.count());
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const double worst = is_close.select(kNone, values).maxCoeff();
  const Eigen::ArrayXd larger =
      (values > worst).select(values, std::numeric_limits<double>::infinity());
  if (values.maxCoeff() > worst) error.close_from = larger.minCoeff();
  return error;
}

}  // namespace foretell::surrogate
