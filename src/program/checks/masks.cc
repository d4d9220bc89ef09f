// Masks, and numbers that are written.
#include <array>

#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

/// masked_fill (TensorAdvancedIndexing.cpp).
void CheckMaskedFill(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const at::Tensor& mask = call.Tensor("mask");
  RequireOneOf(mask, "a mask", {at::kBool});
  RequireBroadcasts(self, "an operand", mask, "a mask");
  if (call.IsTensor("value")) {
    RequireRank(call.Tensor("value"), "a value", 0, 0);
  } else {
    RequireHolds(self, call.Scalar("value"));
  }
}

void CheckMaskedFillInPlace(const Call& call) {
  RequireExpands(call.Tensor("mask"), "a mask", call.Tensor("self").sizes());
  CheckMaskedFill(call);
}

/// masked_scatter (TensorAdvancedIndexing.cpp).
void CheckMaskedScatter(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  RequireOneOf(call.Tensor("mask"), "a mask", {at::kBool});
  RequireTypeOf(call.Tensor("source"), "a source", self, "an operand");
  RequireBroadcasts(self, "an operand", call.Tensor("mask"), "a mask");
}

void CheckMaskedScatterInPlace(const Call& call) {
  RequireExpands(call.Tensor("mask"), "a mask", call.Tensor("self").sizes());
  CheckMaskedScatter(call);
}

/// where accepts bytes as flags (TensorCompare.cpp).
void CheckWhere(const Call& call) {
  if (!call.Has("self")) return;  // Places of what is not zero.
  RequireOneOf(call.Tensor("condition"), "a condition", {at::kBool, at::kByte});
}

/// fill kernels convert the number first (cuda/FillKernel.cu).
void CheckFill(const Call& call) {
  const bool is_number = !call.IsTensor("value");
  if (is_number) RequireHolds(call.Tensor("self"), call.Scalar("value"));
}

constexpr std::array kMaskRows = std::to_array<OperandRow>({
    {"fill", &CheckFill},
    {"fill_", &CheckFill},
    {"masked_fill", &CheckMaskedFill},
    {"masked_fill_", &CheckMaskedFillInPlace},
    {"masked_scatter", &CheckMaskedScatter},
    {"masked_scatter_", &CheckMaskedScatterInPlace},
    {"where", &CheckWhere},
});

}  // namespace

std::span<const OperandRow> MaskRows() { return kMaskRows; }

}  // namespace foretell::checks
