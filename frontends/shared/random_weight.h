#pragma once

#include <ATen/core/Tensor.h>

#include "foretell/program.h"

namespace foretell {

/// Substitutes a weight that is not read by a tensor on the device and in the
/// precision of `options`; `type` is that of the file. On meta it has no
/// values; elsewhere matrices are small random numbers, vectors ones (one may
/// be a variance, which keeps normalisation well defined), integers zeros.
at::Tensor RandomWeight(at::IntArrayRef sizes, at::ScalarType type,
                        const InstanceOptions& options);

}  // namespace foretell
