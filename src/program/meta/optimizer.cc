// Fused optimizer steps: they update their arguments and return nothing.

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

void InPlace(Call&) {}

constexpr KernelRow kOptimizerKernels[] = {
    {"_fused_sgd", InPlace},
    {"_fused_adam", InPlace},
    {"_fused_adamw", InPlace},
    {"_fused_adagrad", InPlace},
    {"_amp_foreach_non_finite_check_and_unscale", InPlace},
    {"_assert_async", InPlace},
};

}  // namespace

std::span<const KernelRow> OptimizerKernels() { return kOptimizerKernels; }

}  // namespace foretell::meta
