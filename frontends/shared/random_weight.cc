#include "frontends/shared/random_weight.h"

#include <ATen/ATen.h>

namespace foretell {
namespace {

constexpr double kWeightDeviation = 0.02;

}  // namespace

at::Tensor RandomWeight(at::IntArrayRef sizes, at::ScalarType type,
                        const InstanceOptions& options) {
  const at::ScalarType stored = StoredAs(type, options.precision);
  const auto on_device =
      at::TensorOptions().dtype(stored).device(options.device);
  if (options.device.is_meta()) return at::empty(sizes, on_device);
  if (!at::isFloatingType(stored)) return at::zeros(sizes, on_device);
  if (sizes.size() <= 1) return at::ones(sizes, on_device);
  return at::randn(sizes, on_device).mul_(kWeightDeviation);
}

}  // namespace foretell
