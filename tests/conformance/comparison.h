#pragma once

#include <optional>
#include <string>

#include "frontends/onnx/value.h"
#include "tests/conformance/case.h"

namespace foretell::conformance {

/// What two values are compared by.
enum class Strictness {
  kValues,         ///< Type, shape and every element.
  kTypesAndShape,  ///< For operators that draw random numbers.
};

/// Says how `actual` differs from `expected`, one line with both values; empty
/// when they are alike.
///
/// Element type and shape must be equal. Floating-point elements may differ by
/// `tolerance` (bfloat16: rtol at least 2^-6, two units in the last place, as
/// the ONNX project's runner does); NaN equals NaN, infinities are exact. All
/// other types must be equal bit for bit.
///
/// Requires: tensors with values on the CPU.
std::optional<std::string> Difference(
    const onnx::Value& expected, const onnx::Value& actual,
    const Tolerance& tolerance, Strictness strictness = Strictness::kValues);

}  // namespace foretell::conformance
