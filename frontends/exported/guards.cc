#include "frontends/exported/guards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include "src/program/size_operations.h"

namespace foretell::exported {
namespace {

using SizesByPlace = std::map<std::string, SizeExpression>;

/// Formulas of all sizes of inputs, by "input.dimension".
SizesByPlace SizesOf(const Model& model) {
  SizesByPlace sizes;
  for (const ModelInput& input : model.inputs) {
    if (input.kind != InputKind::kUser) continue;
    for (std::size_t i = 0; i < input.tensor.sizes.size(); ++i) {
      const Size& size = input.tensor.sizes[i];
      if (!size.formula) continue;
      sizes.emplace(fmt::format("{}.{}", input.name, i), *size.formula);
    }
  }
  return sizes;
}

/// `guard` with formulas of symbols instead of the places in it; empty if a
/// place has no formula.
std::optional<SizeExpression> InSymbols(const SizeExpression& guard,
                                        const SizesByPlace& sizes) {
  SizeExpression result = guard;
  for (const std::string& place : guard.Symbols()) {
    const auto size = sizes.find(place);
    if (size == sizes.end()) return std::nullopt;
    result = result.Substitute(place, size->second);
  }
  return result;
}

/// Replaces `side` by `other` if `side` is a symbol that `other` does not use.
bool Replace(Model& model, const SizeExpression& side,
             const SizeExpression& other) {
  const std::string symbol = side.ToString();
  if (!side.IsSymbol() || other.Symbols().contains(symbol)) return false;
  Substitute(model, symbol, other);
  return true;
}

/// Applies one guard to `model`, and keeps `sizes` in step with it.
void Apply(const std::string& text, SizesByPlace& sizes, Model& model) {
  const auto guard = SizeExpression::Parse(text);
  if (!guard || guard->operation() == nullptr ||
      guard->operation()->names[0] != "==") {
    return;
  }
  const std::optional<SizeExpression> equation = InSymbols(*guard, sizes);
  if (!equation) return;
  const SizeExpression& left = equation->operands()[0];
  const SizeExpression& right = equation->operands()[1];
  if (left.ToString() == right.ToString()) return;
  // The computed side stays; the side that must equal it is replaced.
  if (Replace(model, right, left) || Replace(model, left, right)) {
    sizes = SizesOf(model);
  } else {
    model.guards.push_back({*equation, text});
  }
}

}  // namespace

void Substitute(Model& model, const std::string& symbol,
                const SizeExpression& replacement) {
  const auto substitute = [&](Size& size) {
    if (!size.formula) return;
    size.formula = size.formula->Substitute(symbol, replacement);
    if (size.formula->NumTerms() <= SizeExpression::kMostTerms) return;
    size.text = "a formula has too many terms";
    size.formula.reset();
  };
  for (ModelInput& input : model.inputs) {
    std::ranges::for_each(input.tensor.sizes, substitute);
    substitute(input.size);
  }
  for (Guard& guard : model.guards) {
    guard.equation = guard.equation.Substitute(symbol, replacement);
  }
  std::erase_if(model.guards, [](const Guard& guard) {
    return guard.equation.NumTerms() > SizeExpression::kMostTerms;
  });
}

void ApplyGuards(const Document& document, Model& model) {
  const Json* guards = document.Find(document.root(), "guards_code");
  if (guards == nullptr) return;
  SizesByPlace sizes = SizesOf(model);
  for (const Json& text : document.ToList(*guards)) {
    Apply(document.ToText(text), sizes, model);
  }
}

}  // namespace foretell::exported
