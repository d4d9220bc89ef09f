#include "frontends/onnx/reader/mask.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace foretell::onnx {
namespace {

constexpr std::int32_t kHalf = 10;
constexpr std::int32_t kDouble = 11;
constexpr std::int32_t kBFloat16 = 16;

/// Elements of one type, by their bits.
struct MaskType {
  std::int32_t data_type;
  std::size_t bytes;
  std::uint64_t negative_zero, one, lowest, negative_infinity;
};

constexpr std::array<MaskType, 4> kMaskTypes = {{
    {kOnnxFloat, 4, 0x8000'0000, 0x3F80'0000, 0xFF7F'FFFF, 0xFF80'0000},
    {kHalf, 2, 0x8000, 0x3C00, 0xFBFF, 0xFC00},
    {kDouble, 8, 0x8000'0000'0000'0000, 0x3FF0'0000'0000'0000,
     0xFFEF'FFFF'FFFF'FFFF, 0xFFF0'0000'0000'0000},
    {kBFloat16, 2, 0x8000, 0x3F80, 0xFF7F, 0xFF80},
}};

const MaskType* FindMaskType(std::int32_t data_type) {
  const auto* type =
      std::ranges::find(kMaskTypes, data_type, &MaskType::data_type);
  return type == kMaskTypes.end() ? nullptr : type;
}

std::uint64_t BitsAt(const MaskType& type, const char* bytes) {
  std::uint64_t bits = 0;  // Files are little-endian, as what LibTorch runs on.
  std::memcpy(&bits, bytes, type.bytes);
  return bits;
}

MaskElement ElementOf(const MaskType& type, std::uint64_t bits) {
  if (bits == 0 || bits == type.negative_zero) return MaskElement::kZero;
  if (bits == type.one) return MaskElement::kOne;
  const bool hidden = bits == type.lowest || bits == type.negative_infinity;
  return hidden ? MaskElement::kHidden : MaskElement::kOther;
}

/// How many elements of each kind a constant has.
struct Counts {
  std::array<std::int64_t, 4> of = {};
  std::int64_t operator[](MaskElement element) const {
    return of[static_cast<std::size_t>(element)];
  }
};

Counts CountElements(const MaskType& type, std::string_view bytes) {
  Counts counts;
  for (std::size_t at = 0; at + type.bytes <= bytes.size(); at += type.bytes) {
    const MaskElement element = ElementOf(type, BitsAt(type, &bytes[at]));
    ++counts.of[static_cast<std::size_t>(element)];
  }
  return counts;
}

}  // namespace

std::size_t MaskElementBytes(std::int32_t data_type) {
  const MaskType* type = FindMaskType(data_type);
  return type == nullptr ? 0 : type->bytes;
}

MaskElement MaskElementAt(std::int32_t data_type, const char* bytes) {
  const MaskType* type = FindMaskType(data_type);
  return type == nullptr ? MaskElement::kOther
                         : ElementOf(*type, BitsAt(*type, bytes));
}

bool BeginsMask(std::int32_t data_type, std::string_view bytes) {
  const MaskType* type = FindMaskType(data_type);
  if (type == nullptr) return false;
  const std::string_view first = bytes.substr(0, 2 * type->bytes);
  return HoldsMask(data_type, first) &&
         CountElements(*type, first)[MaskElement::kZero] < 2;
}

bool HoldsMask(std::int32_t data_type, std::string_view bytes) {
  const MaskType* type = FindMaskType(data_type);
  if (type == nullptr) return false;
  for (std::size_t at = 0; at + type->bytes <= bytes.size();
       at += type->bytes) {
    const MaskElement element = ElementOf(*type, BitsAt(*type, &bytes[at]));
    if (element == MaskElement::kOther) return false;
  }
  return true;
}

MaskContent MaskContentOf(const TensorLiteral& literal) {
  const MaskType* type = FindMaskType(literal.data_type);
  if (type == nullptr || literal.payload != TensorLiteral::Payload::kInline) {
    return MaskContent::kOther;
  }
  const Counts counts = CountElements(*type, literal.bytes);
  const std::int64_t elements = literal.NumElements();
  const std::int64_t hidden = counts[MaskElement::kHidden];
  const std::int64_t zeros = counts[MaskElement::kZero];
  if (elements > 0 && counts[MaskElement::kOne] == elements) {
    return MaskContent::kOnes;
  }
  return hidden > 0 && zeros > 0 && hidden + zeros == elements
             ? MaskContent::kAdditive
             : MaskContent::kOther;
}

bool IsCausal(const TensorLiteral& literal) {
  if (literal.dims.size() != 2 ||
      MaskContentOf(literal) != MaskContent::kAdditive) {
    return false;
  }
  const char* element = literal.bytes.data();
  for (std::int64_t i = 0; i < literal.dims[0]; ++i) {
    for (std::int64_t j = 0; j < literal.dims[1]; ++j) {
      const bool hides =
          MaskElementAt(literal.data_type, element) == MaskElement::kHidden;
      if (hides != (j > i)) return false;
      element += MaskElementBytes(literal.data_type);
    }
  }
  return true;
}

bool HidesByInfinity(const TensorLiteral& literal) {
  const MaskType* type = FindMaskType(literal.data_type);
  if (type == nullptr) return false;
  const std::string& bytes = literal.bytes;
  for (std::size_t at = 0; at + type->bytes <= bytes.size();
       at += type->bytes) {
    if (BitsAt(*type, &bytes[at]) == type->negative_infinity) return true;
  }
  return false;
}

TensorLiteral BooleanMask(const TensorLiteral& additive) {
  TensorLiteral mask;
  mask.name = additive.name;
  mask.data_type = kOnnxBool;
  mask.dims = additive.dims;
  mask.payload = additive.payload;
  const std::size_t bytes = MaskElementBytes(additive.data_type);
  for (std::size_t at = 0; at < additive.bytes.size(); at += bytes) {
    const MaskElement element =
        MaskElementAt(additive.data_type, &additive.bytes[at]);
    mask.bytes.push_back(element == MaskElement::kZero ? '\1' : '\0');
  }
  return mask;
}

}  // namespace foretell::onnx
