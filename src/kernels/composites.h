#pragma once

#include <span>
#include <string_view>

#include "src/kernels/composite_steps.h"

namespace foretell::cost {

/// An operator that runs several kernels.
struct Composite {
  std::string_view target;
  /// Writes the steps and returns true, or returns false for operands that the
  /// operator handles in another way, or that it does not understand.
  bool (*write)(CompositeSteps&);
};

/// A family per file; docs/kernels.md states what each assumes.
std::span<const Composite> RecurrentComposites();
std::span<const Composite> RecurrentGradientComposites();

/// All families.
inline constexpr std::span<const Composite> (*kCompositeFamilies[])() = {
    &RecurrentComposites, &RecurrentGradientComposites};

}  // namespace foretell::cost
