#pragma once

#include <string>
#include <vector>

#include "src/features/input_recipe.h"
#include "src/features/terms.h"

namespace foretell::learned {

/// What a network over terms sees of kProbeGraphs: stored in its checkpoint, so
/// that a later change of kernels, of the cost model or of a device is noticed
/// without the labels that it was trained on. Graph after graph, device after
/// device.
struct TermProbe {
  std::vector<double> amounts;   ///< Of every term, ms or MiB.
  std::vector<double> features;  ///< Mean of each over the terms, then totals.

  bool operator==(const TermProbe&) const = default;
};

/// From where on a network should be trained again. A choice: medians of what
/// was left out are 3 % and a term is one of dozens.
inline constexpr double kLargeTermDrift = 0.02;

/// How far terms have moved since a network was trained.
struct TermDrift {
  /// Largest |log(now / then)| of an amount; infinite for another number of
  /// terms.
  double amounts = 0;
  double features = 0;  ///< Largest difference; features are near [-1, 1].

  /// Whether one of them is above kLargeTermDrift.
  bool IsLarge() const;
};

/// The probe of a recipe with terms on those of `devices` that the built-in
/// catalogue knows, an A100 if it knows none, with its context model of the
/// recipe's name or today's; numbers have five significant digits. Throws as
/// the terms' functions do.
TermProbe ProbeTerms(const InputRecipe& recipe,
                     const std::vector<std::string>& devices);

TermDrift DriftOf(const TermProbe& then, const TermProbe& now);

}  // namespace foretell::learned
