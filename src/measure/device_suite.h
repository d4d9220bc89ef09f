#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/run.h"

namespace foretell::measure {

/// A network of the zoo, its batch and the type of its tensors.
struct SuiteStep {
  std::string model;
  std::int64_t batch = 1;
  Precision precision = Precision::kFp32;

  bool operator==(const SuiteStep&) const = default;
};

/// Steps of inference from which the constants of a GPU can be told apart,
/// about fifty, with at most 1.5 GiB each: single large products in every
/// precision, wide normalizations and activations, long chains of layers that
/// are a few ten microseconds each, and chains and networks at small batches,
/// which wait for the host. Kind by kind, so that every third step is of all
/// kinds.
std::vector<SuiteStep> DeviceSuite();

}  // namespace foretell::measure
