#include "src/program/weight_warnings.h"

#include <fmt/core.h>

#include "foretell/program.h"

namespace foretell {
namespace {

std::string Weights(DType dtype, std::int64_t elements) {
  return fmt::format("{} weights of type {}", elements, DTypeName(dtype));
}

bool IsComplex(DType dtype) {
  return dtype == DType::kC64 || dtype == DType::kC128;
}

/// The warning for floating-point and complex weights; empty if not needed.
std::string OfFloats(DType dtype, std::int64_t elements, Precision precision,
                     bool chose_precision) {
  const std::string flag =
      "--precision " + std::string(PrecisionName(precision));
  const bool casts = CastsWeights(precision);
  // Module.half() leaves complex weights alone, too.
  if (casts && (dtype == DType::kF8 || IsComplex(dtype))) {
    return Weights(dtype, elements) + " keep their type at " + flag;
  }
  if (!casts) {
    const bool is_single = dtype == DType::kF32 || dtype == DType::kC64;
    if (is_single || !chose_precision) return "";
    return Weights(dtype, elements) + " keep their type at " + flag;
  }
  const DType target = ToDType(ToScalarType(DType::kF32, precision));
  if (dtype == target) {
    return fmt::format("{}: {} does not change them", Weights(dtype, elements),
                       flag);
  }
  if (dtype == DType::kF32) return "";
  return fmt::format("{} are cast to {} by {}", Weights(dtype, elements),
                     DTypeName(target), flag);
}

}  // namespace

std::vector<std::string> WeightWarnings(
    const std::map<DType, std::int64_t>& elements, Precision precision,
    bool chose_precision) {
  double total = 0;
  for (const auto& [dtype, count] : elements) {
    total += static_cast<double>(count);
  }
  std::vector<std::string> warnings;
  for (const auto& [dtype, count] : elements) {
    if (static_cast<double>(count) * 100 < total) continue;
    if (!IsFloatingPoint(dtype) && !IsComplex(dtype)) {
      warnings.push_back(
          fmt::format("{} ({} bytes) are counted as memory, not as parameters",
                      Weights(dtype, count), count * ByteWidth(dtype)));
      continue;
    }
    std::string warning = OfFloats(dtype, count, precision, chose_precision);
    if (!warning.empty()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::string PrecisionHint(DType stated, const Run& run) {
  const bool is_wide =
      run.precision == Precision::kFp32 || run.precision == Precision::kTf32;
  if (!is_wide || run.autocast) return "";
  const Precision precision =
      stated == DType::kBF16 ? Precision::kBf16 : Precision::kFp16;
  return fmt::format(
      "weights have 32 bits, the network is published in {}: --precision {}",
      DTypeName(stated), PrecisionName(precision));
}

}  // namespace foretell
