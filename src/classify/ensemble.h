#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/classify/encode.h"
#include "src/classify/estimator.h"
#include "src/classify/memory_classes.h"
#include "src/classify/step_inputs.h"

namespace foretell::classify {

/// Memory of a step as probabilities of classes.
struct ClassAnswer {
  std::vector<double> probabilities;  ///< By class; they sum to 1.

  /// The answer: the lowest class that is not exceeded with kCaution. Of
  /// classes that are nearly as likely it is the higher one, because a step
  /// that needs more than predicted fails.
  int Cautious() const;
  static constexpr double kCaution = 0.6;
};

/// What an ensemble is made of and for.
struct EnsembleInfo {
  MemoryClasses classes;
  InputSet inputs = InputSet::kPhysics;
  EstimatorKind kind = EstimatorKind::kMlp;
  int members = 1;
  /// Names in the catalogue of what the simulation in the inputs is for.
  std::string device;
  std::string environment;
  std::vector<std::string> sets;  ///< Of the steps it learned from, sorted.
  std::int64_t steps = 0;         ///< How many these were.
};

/// Several estimators of different depth and start, whose probabilities are
/// averaged. Safe to use from several threads once it is fitted.
class Ensemble {
 public:
  static constexpr int kMostMembers = 32;

  /// With random weights, drawn from the default generator; scales nothing yet.
  /// Throws Error(kInvalidArgument) for members outside 1..kMostMembers.
  explicit Ensemble(EnsembleInfo info);

  const EnsembleInfo& info() const { return info_; }
  Estimator& member(int one) {
    return *members_[static_cast<std::size_t>(one)];
  }
  /// All that is learned: weights of the members, scale of the numbers.
  torch::nn::Module& module() { return *module_; }
  const torch::nn::Module& module() const { return *module_; }

  /// Numbers become (x - mean) / deviation from now on; by the table's rows. A
  /// number that is the same everywhere stays.
  void SetScale(const StepTable& table, Rows rows);
  /// A batch with scaled numbers.
  StepBatch Scaled(StepBatch batch) const;

  std::vector<ClassAnswer> Answer(const StepTable& table, Rows rows) const;
  ClassAnswer Answer(const StepInputs& step) const;
  /// The steps, encoded as this ensemble sees them.
  StepTable Encode(std::span<const StepInputs* const> steps) const;

 private:
  EnsembleInfo info_;
  std::shared_ptr<torch::nn::Module> module_;
  std::vector<std::shared_ptr<Estimator>> members_;
  at::Tensor mean_;
  at::Tensor deviation_;
};

}  // namespace foretell::classify
