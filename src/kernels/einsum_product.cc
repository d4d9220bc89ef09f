#include "src/kernels/einsum_product.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/graph/attributes.h"

namespace foretell::cost {
namespace {

/// The terms of "ab,bc->ac".
struct Equation {
  std::string left;
  std::string right;
  std::string result;
};

std::optional<Equation> ParseEquation(const Node& node) {
  std::string text(TextOf(node, "equation"));
  std::erase(text, ' ');
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  const bool is_pair = comma != std::string::npos &&
                       arrow != std::string::npos && comma < arrow &&
                       std::ranges::count(text, ',') == 1 &&
                       std::ranges::count(text, '.') == 0;
  if (!is_pair) return std::nullopt;
  return Equation{.left = text.substr(0, comma),
                  .right = text.substr(comma + 1, arrow - comma - 1),
                  .result = text.substr(arrow + 2)};
}

bool Has(const std::string& term, char index) {
  return term.find(index) != std::string::npos;
}

void AddSizes(const std::string& term, const std::vector<std::int64_t>& shape,
              std::map<char, std::int64_t>& sizes) {
  for (std::size_t i = 0; i < std::min(term.size(), shape.size()); ++i) {
    std::int64_t& size = sizes[term[i]];
    size = std::max(size, shape[i]);
  }
}

}  // namespace

std::optional<ProductShape> EinsumProduct(const OperatorGraph& graph,
                                          const Node& node) {
  const std::optional<Equation> equation = ParseEquation(node);
  if (!equation || node.inputs.size() != 2) return std::nullopt;
  std::map<char, std::int64_t> sizes;
  AddSizes(equation->left, graph.value(node.inputs[0]).type.shape, sizes);
  AddSizes(equation->right, graph.value(node.inputs[1]).type.shape, sizes);
  ProductShape product;
  for (const auto& [index, size] : sizes) {
    const bool in_left = Has(equation->left, index);
    const bool in_right = Has(equation->right, index);
    const bool stays = Has(equation->result, index);
    std::int64_t& extent = !stays                ? product.k
                           : in_left && in_right ? product.batch
                           : in_left             ? product.m
                                                 : product.n;
    extent *= size;
  }
  return product;
}

}  // namespace foretell::cost
