#include "src/surrogate/evolve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "src/core/random.h"
#include "src/surrogate/constants.h"
#include "src/surrogate/expression.h"
#include "src/surrogate/variation.h"

namespace foretell::surrogate {
namespace {

constexpr std::size_t kFitnessTournament = 3;
/// The smaller of two wins with half of this as its probability.
constexpr double kParsimony = 1.1;
constexpr double kMutationProbability = 0.5;
/// Rows are left out one at a time, or in so many parts where there are more.
constexpr Eigen::Index kMostFolds = 20;
/// How far off constants start, as a share, and how often they are fitted.
constexpr double kStartOff = 0.2;
constexpr int kFitsAnew = 3;

/// An expression and its mean relative error.
struct Individual {
  Expression expression;
  double error = std::numeric_limits<double>::infinity();
};

/// The table with columns and target divided by their largest magnitudes, so
/// that constants are near 1.
struct ScaledTable {
  explicit ScaledTable(const Table& table)
      : inputs(table.inputs), values(table.values) {
    for (Eigen::Index i = 0; i < inputs.cols(); ++i) {
      const double most = inputs.col(i).cwiseAbs().maxCoeff();
      scales.push_back(most > 0 ? most : 1);
      inputs.col(i) /= scales.back();
    }
    target_scale = values.cwiseAbs().maxCoeff();
    values /= target_scale;
  }

  Eigen::MatrixXd inputs;
  Eigen::VectorXd values;
  std::vector<double> scales;
  double target_scale = 1;
};

/// Fits the constants from starts that are off, so that what these rows do not
/// show is not remembered from a fit to more of them.
void FitAnew(Expression& expression, Evaluator& evaluator,
             const Eigen::VectorXd& values, Random& random) {
  for (const std::size_t place : ConstantsOf(expression)) {
    expression[place].value *= random.Between(1 - kStartOff, 1 + kStartOff);
  }
  for (int i = 0; i < kFitsAnew; ++i) {
    FitConstants(expression, evaluator, values);
  }
}

/// Mean relative error of rows in the fit of whose constants they were left
/// out.
double ErrorWhenLeftOut(const Expression& expression,
                        const ScaledTable& table) {
  const Eigen::Index rows = table.values.size();
  const Eigen::Index folds = std::min(rows, kMostFolds);
  Eigen::VectorXd predicted(rows);
  Random random(0);
  for (Eigen::Index fold = 0; fold < folds; ++fold) {
    std::vector<Eigen::Index> parts[2];  // Fitted, left out.
    for (Eigen::Index row = 0; row < rows; ++row) {
      parts[row % folds == fold ? 1 : 0].push_back(row);
    }
    const Eigen::MatrixXd inputs = table.inputs(parts[0], Eigen::all);
    const Eigen::VectorXd values = table.values(parts[0]);
    Expression fitted = expression;
    Evaluator evaluator(inputs);
    FitAnew(fitted, evaluator, values, random);
    const Eigen::MatrixXd others = table.inputs(parts[1], Eigen::all);
    predicted(parts[1]) = Evaluator(others).Value(fitted).matrix();
  }
  return MeanError(predicted, table.values);
}

/// What to expect of rows not seen: the error of rows left out, or Akaike's
/// final prediction error where that is larger.
double ExpectedError(const Individual& individual, const ScaledTable& table) {
  const auto rows = static_cast<double>(table.values.size());
  const auto constants =
      static_cast<double>(ConstantsOf(individual.expression).size());
  if (constants >= rows) return std::numeric_limits<double>::infinity();
  const double akaike =
      individual.error * (rows + constants) / (rows - constants);
  const double left_out = ErrorWhenLeftOut(individual.expression, table);
  return std::isfinite(left_out) ? std::max(akaike, left_out)
                                 : std::numeric_limits<double>::infinity();
}

std::size_t SmallestGoodOne(const std::vector<SizedFormula>& front) {
  const double least =
      std::ranges::min(front, {}, &SizedFormula::expected_error).expected_error;
  const auto chosen =
      std::ranges::find_if(front, [least](const SizedFormula& one) {
        return IsNearlyAsGood(one.expected_error, least);
      });
  return static_cast<std::size_t>(chosen - front.begin());
}

/// One run of genetic programming.
class Search {
 public:
  Search(const Table& table, const EvolveOptions& options)
      : scaled_(table),
        evaluator_(scaled_.inputs),
        options_(options),
        random_(options.seed) {}

  Evolution Run() {
    for (int i = 0; i < options_.population; ++i) {
      population_.push_back(Judge(DrawHalfAndHalf(columns(), random_)));
    }
    for (int i = 1; i <= options_.generations; ++i) {
      Breed();
      if (options_.on_generation) options_.on_generation(i, LeastError());
    }
    return Found();
  }

 private:
  int columns() const { return static_cast<int>(scaled_.inputs.cols()); }

  Individual Judge(Expression expression) {
    FitConstants(expression, evaluator_, scaled_.values);
    Individual individual{std::move(expression)};
    const double error =
        MeanError(evaluator_.Value(individual.expression), scaled_.values);
    if (std::isfinite(error)) individual.error = error;
    const auto best = best_.find(individual.expression.size());
    if (best == best_.end() || individual.error < best->second.error) {
      best_[individual.expression.size()] = individual;
    }
    return individual;
  }

  const Individual& DrawOne() {
    return population_[random_.Below(population_.size())];
  }

  Individual Offspring() {
    const Individual& parent = DrawOne();
    Expression child =
        CrossOver(parent.expression, DrawOne().expression, random_);
    if (random_.Share() < kMutationProbability) {
      child = Mutate(child, columns(), random_);
    }
    return IsSmallEnough(child) ? Judge(std::move(child)) : parent;
  }

  const Individual& Fittest() {
    const Individual* best = &DrawOne();
    for (std::size_t i = 1; i < kFitnessTournament; ++i) {
      const Individual& other = DrawOne();
      if (other.error < best->error) best = &other;
    }
    return *best;
  }

  const Individual& Survivor() {
    const Individual* smaller = &Fittest();
    const Individual* larger = &Fittest();
    if (smaller->expression.size() > larger->expression.size()) {
      std::swap(smaller, larger);
    }
    return random_.Share() < kParsimony / 2 ? *smaller : *larger;
  }

  void Breed() {
    std::vector<Individual> offspring;
    for (int i = 0; i < options_.population; ++i) {
      offspring.push_back(Offspring());
    }
    population_.insert(population_.end(),
                       std::make_move_iterator(offspring.begin()),
                       std::make_move_iterator(offspring.end()));
    std::vector<Individual> survivors;
    for (int i = 0; i < options_.population; ++i) {
      survivors.push_back(Survivor());
    }
    population_ = std::move(survivors);
  }

  double LeastError() const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [size, best] : best_) least = std::min(least, best.error);
    return least;
  }

  Evolution Found() const {
    Evolution evolution;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [size, best] : best_) {
      if (!(best.error < least)) continue;
      least = best.error;
      evolution.front.push_back(
          {size, best.error, ExpectedError(best, scaled_),
           MultiplyOut(best.expression, scaled_.scales, scaled_.target_scale)});
    }
    evolution.chosen = SmallestGoodOne(evolution.front);
    return evolution;
  }

  ScaledTable scaled_;
  Evaluator evaluator_;
  const EvolveOptions& options_;
  Random random_;
  std::vector<Individual> population_;
  std::map<std::size_t, Individual> best_;  ///< By size, over all generations.
};

}  // namespace

Evolution Evolve(const Table& table, const EvolveOptions& options) {
  return Search(table, options).Run();
}

}  // namespace foretell::surrogate
