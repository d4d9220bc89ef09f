#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontends/onnx/reader/model.h"

/// Attention masks among a file's constants: exporters fold them into
/// initializers that no training changes.
namespace foretell::onnx {

/// Meaning of an element. Hidden is minus infinity or the lowest finite number
/// of the type, which exporters write instead.
enum class MaskElement : std::uint8_t { kZero, kOne, kHidden, kOther };

/// Bytes of an element of a floating-point `data_type` that masks have (32, 16
/// and 64 bits, bfloat16); 0 for any other.
std::size_t MaskElementBytes(std::int32_t data_type);
/// The element at `bytes`; reads MaskElementBytes(data_type).
MaskElement MaskElementAt(std::int32_t data_type, const char* bytes);

/// True if the first two elements of a payload are those of a mask and not both
/// zero: all-zero weights, possibly gigabytes of them, are not masks.
bool BeginsMask(std::int32_t data_type, std::string_view bytes);
/// True if `bytes` are only zeros, ones and hidden elements.
bool HoldsMask(std::int32_t data_type, std::string_view bytes);

/// Content of a constant whose payload was read.
enum class MaskContent : std::uint8_t {
  kOther,
  kOnes,
  kAdditive,  ///< Zeros and hidden elements, both of them.
};
MaskContent MaskContentOf(const TensorLiteral& literal);

/// True for an additive mask [rows, columns] that hides exactly what is above
/// the diagonal.
bool IsCausal(const TensorLiteral& literal);
/// True if a hidden element is minus infinity.
bool HidesByInfinity(const TensorLiteral& literal);

/// The Boolean form (true: attend) of an additive mask.
TensorLiteral BooleanMask(const TensorLiteral& additive);

}  // namespace foretell::onnx
