#include "src/program/weight_warnings.h"

#include <fmt/core.h>

#include "foretell/program.h"

namespace foretell {
namespace {

std::string Weights(DType dtype, std::int64_t elements) {
  return fmt::format("{} weights of type {}", elements, DTypeName(dtype));
}

/// The warning for floating-point weights; empty for none.
std::string OfFloats(DType dtype, std::int64_t elements, Precision precision) {
  const std::string flag =
      "--precision " + std::string(PrecisionName(precision));
  if (dtype == DType::kF8) {
    return Weights(dtype, elements) + " keep their type at " + flag;
  }
  const bool casts =
      precision == Precision::kFp16 || precision == Precision::kBf16;
  if (!casts) {
    if (dtype == DType::kF32) return "";
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
    const std::map<DType, std::int64_t>& elements, Precision precision) {
  double total = 0;
  for (const auto& [dtype, count] : elements) {
    total += static_cast<double>(count);
  }
  std::vector<std::string> warnings;
  for (const auto& [dtype, count] : elements) {
    if (static_cast<double>(count) * 100 < total) continue;
    if (!IsFloatingPoint(dtype)) {
      warnings.push_back(
          fmt::format("{} ({} bytes) are counted as memory, not as parameters",
                      Weights(dtype, count), count * ByteWidth(dtype)));
      continue;
    }
    std::string warning = OfFloats(dtype, count, precision);
    if (!warning.empty()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace foretell
