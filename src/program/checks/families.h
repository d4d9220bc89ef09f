#pragma once

#include <span>
#include <string_view>

#include "src/program/meta/call.h"

/// Rows of checks, one family of operators per file. The rules are those of
/// LibTorch 2.13, in aten/src/ATen/native, unless stated otherwise.
namespace foretell::checks {

/// Throws when the operands of a call do not fit.
using Check = void (*)(const meta::Call& call);

struct OperandRow {
  std::string_view name;  ///< Without "aten::", of every overload.
  Check check;
};

std::span<const OperandRow> AttentionRows();
std::span<const OperandRow> ConvolutionRows();
std::span<const OperandRow> DimensionRows();
std::span<const OperandRow> ImageRows();
std::span<const OperandRow> IndexRows();
std::span<const OperandRow> LossRows();
std::span<const OperandRow> MaskRows();
std::span<const OperandRow> NormRows();
std::span<const OperandRow> ProductRows();
std::span<const OperandRow> RecurrentRows();
std::span<const OperandRow> TypeRows();

}  // namespace foretell::checks
