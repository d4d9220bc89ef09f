#include "src/program/checks/predicates.h"

#include <ATen/ExpandUtils.h>
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "foretell/program.h"
#include "src/core/failure.h"

namespace foretell::checks {
namespace {

std::string_view NameOf(at::ScalarType type) {
  return DTypeName(ToDType(type));
}

/// Largest number of a type; no limit for those that are wide or complex.
double LargestOf(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return std::numeric_limits<std::uint8_t>::max();
    case at::kChar:
      return std::numeric_limits<std::int8_t>::max();
    case at::kShort:
      return std::numeric_limits<std::int16_t>::max();
    case at::kInt:
      return std::numeric_limits<std::int32_t>::max();
    case at::kLong:
      return static_cast<double>(std::numeric_limits<std::int64_t>::max());
    case at::kHalf:
      return std::numeric_limits<at::Half>::max();
    case at::kBFloat16:
      return std::numeric_limits<at::BFloat16>::max();
    case at::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::infinity();
  }
}

/// Least or largest number of a wide type. A file that has it was made in that
/// type; run in 16 bits it counts as the limit of the narrow type.
bool IsLimit(double number) {
  const double size = std::abs(number);
  return size == std::numeric_limits<float>::max() ||
         size == std::numeric_limits<double>::max();
}

/// c10::overflows: integers may wrap around in unsigned ones.
bool IsHeld(at::ScalarType type, const at::Scalar& value) {
  if (value.isComplex()) {
    return at::isComplexType(type) || value.toComplexDouble().imag() == 0;
  }
  if (value.isBoolean() || type == at::kBool) return true;
  const double number = value.toDouble();
  const double largest = LargestOf(type);
  if (!at::isIntegralType(type, /*includeBool=*/false) &&
      (!std::isfinite(number) || IsLimit(number))) {
    return true;
  }
  const double least =
      type == at::kByte && value.isFloatingPoint() ? 0 : -largest;
  return number <= largest && number >= least - (least < 0 ? 1 : 0);
}

}  // namespace

std::string Text(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ","));
}

std::string TypeText(const at::Tensor& tensor) {
  return std::string(NameOf(tensor.scalar_type()));
}

void RequireShape(const at::Tensor& tensor, std::string_view what,
                  at::IntArrayRef expected) {
  if (!tensor.defined() || tensor.sizes().equals(expected)) return;
  throw InvalidArgument("has {} of shape {}, expected {}", what,
                        Text(tensor.sizes()), Text(expected));
}

void RequireExpands(const at::Tensor& tensor, std::string_view what,
                    at::IntArrayRef shape) {
  if (!tensor.defined() || at::is_expandable_to(tensor.sizes(), shape)) return;
  throw InvalidArgument("has {} of shape {}, which does not expand to {}", what,
                        Text(tensor.sizes()), Text(shape));
}

void RequireBroadcasts(const at::Tensor& tensor, std::string_view what,
                       const at::Tensor& other, std::string_view other_what) {
  if (!tensor.defined() || !other.defined() ||
      at::are_expandable(tensor.sizes(), other.sizes())) {
    return;
  }
  throw InvalidArgument(
      "has {} of shape {} and {} of shape {}, which have no common shape", what,
      Text(tensor.sizes()), other_what, Text(other.sizes()));
}

void RequireElements(const at::Tensor& tensor, std::string_view what,
                     std::int64_t expected) {
  if (!tensor.defined() || tensor.numel() == expected) return;
  throw InvalidArgument("has {} of shape {}, expected {} elements", what,
                        Text(tensor.sizes()), expected);
}

void RequireRank(const at::Tensor& tensor, std::string_view what,
                 std::int64_t least, std::int64_t most) {
  if (!tensor.defined() || (tensor.dim() >= least && tensor.dim() <= most)) {
    return;
  }
  throw InvalidArgument("has {} of shape {}, expected {} dimensions", what,
                        Text(tensor.sizes()),
                        least == most ? fmt::format("{}", least)
                                      : fmt::format("{} to {}", least, most));
}

void RequireOneOf(const at::Tensor& tensor, std::string_view what,
                  std::initializer_list<at::ScalarType> types) {
  if (!tensor.defined() ||
      std::ranges::find(types, tensor.scalar_type()) != types.end()) {
    return;
  }
  std::vector<std::string_view> names;
  for (const at::ScalarType type : types) names.push_back(NameOf(type));
  throw InvalidArgument("has {} of type {}, expected {}", what,
                        TypeText(tensor), fmt::join(names, " or "));
}

void RequireTypeOf(const at::Tensor& tensor, std::string_view what,
                   const at::Tensor& other, std::string_view other_what) {
  if (!tensor.defined() || !other.defined() ||
      tensor.scalar_type() == other.scalar_type()) {
    return;
  }
  throw InvalidArgument(
      "has {} of type {} and {} of type {}, which must be the same", what,
      TypeText(tensor), other_what, TypeText(other));
}

void RequireFloats(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (at::isFloatingType(type) || at::isComplexType(type)) return;
  if (tensor.numel() == 0) return;
  throw InvalidArgument(
      "has no kernel for elements of type {}, only for floating-point ones",
      NameOf(type));
}

void RequireHolds(const at::Tensor& tensor, const at::Scalar& value) {
  if (IsHeld(tensor.scalar_type(), value)) return;
  throw InvalidArgument(
      "writes {} into elements of type {}, which do not hold it",
      value.isComplex() ? "a complex number"
                        : fmt::format("{}", value.toDouble()),
      TypeText(tensor));
}

void RequireAtLeast(std::int64_t number, std::string_view what,
                    std::int64_t least) {
  if (number >= least) return;
  throw InvalidArgument("has {} {}, expected at least {}", what, number, least);
}

void RequireAll(const Call& call, std::string_view name, std::size_t rank,
                std::int64_t least) {
  if (call.Has(name) && call.Ints(name).empty()) {
    throw InvalidArgument("has an empty list for {}, expected 1 or {} numbers",
                          name, rank);
  }
  for (const std::int64_t number : call.Ints(name, rank, least)) {
    RequireAtLeast(number, name, least);
  }
}

void RequireDivides(std::int64_t number, std::string_view what,
                    std::int64_t groups) {
  if (groups > 0 && number % groups == 0) return;
  throw InvalidArgument("has {} {}, which do not divide into {} groups", number,
                        what, groups);
}

void RequireDim(std::int64_t dim, std::int64_t rank) {
  const std::int64_t end = std::max<std::int64_t>(rank, 1);
  if (dim >= -end && dim < end) return;
  throw InvalidArgument("works along dimension {} of a tensor of rank {}", dim,
                        rank);
}

void RequireDims(const Sizes& dims, std::int64_t rank) {
  Sizes seen;
  for (const std::int64_t dim : dims) {
    RequireDim(dim, rank);
    const std::int64_t place =
        dim < 0 ? dim + std::max<std::int64_t>(rank, 1) : dim;
    if (std::ranges::find(seen, place) != seen.end()) {
      throw InvalidArgument("names dimension {} twice, among {}", dim,
                            Text(dims));
    }
    seen.push_back(place);
  }
}

}  // namespace foretell::checks
