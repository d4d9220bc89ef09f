#include "src/graph/attributes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

namespace foretell {
namespace {

std::optional<std::size_t> FromFront(std::int64_t dim, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (dim < -size || dim >= size) return std::nullopt;
  return static_cast<std::size_t>(dim < 0 ? dim + size : dim);
}

}  // namespace

std::optional<std::size_t> DimOf(const Node& node, std::string_view name,
                                 std::size_t rank, std::int64_t fallback) {
  return FromFront(node.Int(name, fallback), rank);
}

std::optional<std::vector<std::size_t>> DimsOf(const Node& node,
                                               std::string_view name,
                                               std::size_t rank) {
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : node.Ints(name, {})) {
    const std::optional<std::size_t> counted = FromFront(dim, rank);
    if (!counted) return std::nullopt;
    dims.push_back(*counted);
  }
  return dims;
}

std::optional<std::vector<std::size_t>> PermutationOf(const Node& node,
                                                      std::string_view name,
                                                      std::size_t rank) {
  auto dims = DimsOf(node, name, rank);
  if (!dims || dims->size() != rank) return std::nullopt;
  std::vector<std::size_t> sorted = *dims;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return std::nullopt;
  return dims;
}

bool FlagOf(const Node& node, std::string_view name, bool fallback) {
  return node.Int(name, fallback ? 1 : 0) != 0;
}

double NumberOf(const Node& node, std::string_view name, double fallback) {
  const Attribute* attribute = node.FindAttribute(name);
  if (const auto* real = std::get_if<double>(attribute)) {
    return std::isfinite(*real) ? *real : fallback;
  }
  if (const auto* integer = std::get_if<std::int64_t>(attribute)) {
    return static_cast<double>(*integer);
  }
  return fallback;
}

std::string_view TextOf(const Node& node, std::string_view name) {
  const auto* text = std::get_if<std::string>(node.FindAttribute(name));
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

}  // namespace foretell
