#include "frontends/exported/guards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "src/program/size_operations.h"

namespace foretell::exported {
namespace {

/// Formulas of all sizes of inputs, by "input.dimension".
std::map<std::string, SizeExpression> SizesByPlace(const Model& model) {
  std::map<std::string, SizeExpression> sizes;
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

/// `guard` with formulas of symbols for the places in it; empty where one has
/// none.
std::optional<SizeExpression> InSymbols(const SizeExpression& guard,
                                        const Model& model) {
  const std::map<std::string, SizeExpression> sizes = SizesByPlace(model);
  SizeExpression result = guard;
  for (const std::string& place : guard.Symbols()) {
    const auto size = sizes.find(place);
    if (size == sizes.end()) return std::nullopt;
    result = result.Substitute(place, size->second);
  }
  return result;
}

/// Replaces `side` by `other` where it is a symbol that is not part of it.
bool Replace(Model& model, const SizeExpression& side,
             const SizeExpression& other) {
  const std::string symbol = side.ToString();
  if (!side.IsSymbol() || other.Symbols().contains(symbol)) return false;
  Substitute(model, symbol, other);
  return true;
}

void Apply(const std::string& text, Model& model) {
  const auto guard = SizeExpression::Parse(text);
  if (!guard || guard->operation() == nullptr ||
      guard->operation()->names[0] != "==") {
    return;
  }
  const std::optional<SizeExpression> equation = InSymbols(*guard, model);
  if (!equation) return;
  const SizeExpression& left = equation->operands()[0];
  const SizeExpression& right = equation->operands()[1];
  if (left.ToString() == right.ToString()) return;
  // What is computed stays; what it must be equal to is replaced.
  if (Replace(model, right, left) || Replace(model, left, right)) return;
  model.guards.push_back({*equation, text});
}

}  // namespace

void Substitute(Model& model, const std::string& symbol,
                const SizeExpression& replacement) {
  const auto substitute = [&](Size& size) {
    if (size.formula) {
      size.formula = size.formula->Substitute(symbol, replacement);
    }
  };
  for (ModelInput& input : model.inputs) {
    std::ranges::for_each(input.tensor.sizes, substitute);
    substitute(input.size);
  }
  for (Guard& guard : model.guards) {
    guard.equation = guard.equation.Substitute(symbol, replacement);
  }
}

void ApplyGuards(const Document& document, Model& model) {
  const Json* guards = document.Find(document.root(), "guards_code");
  if (guards == nullptr) return;
  for (const Json& text : document.ToList(*guards)) {
    Apply(document.ToText(text), model);
  }
}

}  // namespace foretell::exported
