#include "frontends/exported/sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::exported {
namespace {

const SizeRange* RangeOf(const Model& model, const std::string& symbol) {
  const auto range = model.ranges.find(symbol);
  return range == model.ranges.end() ? nullptr : &range->second;
}

/// "at least 3", "at most 64", "3 to 64".
std::string Describe(const AllowedSizes& sizes) {
  if (!sizes.most) return fmt::format("at least {}", sizes.least);
  if (sizes.least == 0) return fmt::format("at most {}", *sizes.most);
  return fmt::format("{} to {}", sizes.least, *sizes.most);
}

bool Contains(const AllowedSizes& sizes, std::int64_t value) {
  return value >= sizes.least && value <= sizes.most.value_or(value);
}

[[noreturn]] void Refuse(const std::string& input, std::size_t dim,
                         std::int64_t value, const std::string& expected) {
  throw InvalidArgument("input '{}': dimension {} is {}, {}", input, dim, value,
                        expected);
}

std::string HowToFree(const std::string& input, std::size_t dim,
                      std::int64_t fixed) {
  return fmt::format(
      "the file fixes it at {}; to vary it, export the network again with "
      "dynamic_shapes={{'{}': {{{}: torch.export.Dim.AUTO}}}}",
      fixed, input, dim);
}

}  // namespace

Size FixedSize(std::int64_t size) {
  return {.formula = SizeExpression(static_cast<double>(size)),
          .text = {},
          .example = size};
}

Size ParseSize(std::string_view text) {
  Size size{.formula = SizeExpression::Parse(text),
            .text = std::string(text),
            .example = {}};
  if (size.IsFixed()) size.example = size.formula->Evaluate({});
  return size;
}

std::string SymbolOf(const Size& size) {
  if (size.IsFixed()) return "";
  return size.formula ? size.formula->ToString() : size.text;
}

AllowedSizes AllowedBy(const SizeRange& range) {
  constexpr std::int64_t kLeastOfOpen = 2;
  const std::int64_t least = range.at_least.value_or(0);
  return {.least = least > kLeastOfOpen ? least : 0, .most = range.at_most};
}

AllowedSizes AllowedFor(const Model& model, const Size& size) {
  const bool is_symbol = size.formula && size.formula->IsSymbol();
  const SizeRange* range = is_symbol ? RangeOf(model, SymbolOf(size)) : nullptr;
  return range == nullptr ? AllowedSizes() : AllowedBy(*range);
}

bool IsGivenNumber(const Model& model, const ModelInput& input) {
  if (input.kind != InputKind::kUserSize || !input.size.formula ||
      input.size.IsFixed()) {
    return false;
  }
  std::set<std::string> symbols = input.size.formula->Symbols();
  for (const ModelInput& other : model.inputs) {
    for (const Size& size : other.tensor.sizes) {
      if (!size.formula) continue;
      for (const std::string& one : size.formula->Symbols()) symbols.erase(one);
    }
  }
  return !symbols.empty();
}

Symbols::Symbols(const Model& model,
                 const std::vector<std::vector<std::int64_t>>& shapes,
                 const std::vector<std::int64_t>& numbers) {
  Bind(model, shapes, numbers);
  std::size_t next = 0;
  for (const ModelInput& input : model.inputs) {
    if (input.kind == InputKind::kUser) Check(model, input, shapes.at(next++));
  }
  for (const Guard& guard : model.guards) {
    if (guard.equation.Evaluate(values_) != 0) continue;
    throw InvalidArgument("the file demands {}", guard.text);
  }
}

void Symbols::Bind(const Model& model,
                   const std::vector<std::vector<std::int64_t>>& shapes,
                   const std::vector<std::int64_t>& numbers) {
  std::vector<SizeEquation> equations;
  std::size_t next = 0;
  std::size_t next_number = 0;
  for (const ModelInput& input : model.inputs) {
    if (IsGivenNumber(model, input)) {
      equations.push_back({*input.size.formula, numbers.at(next_number++)});
    }
    if (input.kind != InputKind::kUser) continue;
    const std::vector<std::int64_t>& shape = shapes.at(next++);
    const std::vector<Size>& sizes = input.tensor.sizes;
    for (std::size_t i = 0; i < std::min(shape.size(), sizes.size()); ++i) {
      if (sizes[i].formula) equations.push_back({*sizes[i].formula, shape[i]});
    }
  }
  SolveSizes(equations, values_);
}

void Symbols::Check(const Model& model, const ModelInput& input,
                    const std::vector<std::int64_t>& shape) const {
  const std::vector<Size>& sizes = input.tensor.sizes;
  if (shape.size() != sizes.size()) {
    throw InvalidArgument("input '{}' has {}, the file fixes {}", input.name,
                          Counted(shape.size(), "dimension"), sizes.size());
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (sizes[i].formula) CheckSize(model, input, i, shape[i]);
  }
}

void Symbols::CheckSize(const Model& model, const ModelInput& input,
                        std::size_t dim, std::int64_t value) const {
  const Size& size = input.tensor.sizes[dim];
  const std::optional<std::int64_t> expected = size.formula->Evaluate(values_);
  const std::string symbol = SymbolOf(size);
  if (!expected && value != size.example) {
    const bool is_alone = size.formula->Symbols().size() == 1;
    Refuse(input.name, dim, value,
           fmt::format("{} '{}'; it was {} in the file's example",
                       is_alone ? "which is no value of"
                                : "the input sizes give no value for",
                       symbol, size.example.value_or(0)));
  }
  if (size.IsFixed() && value != *expected) {
    Refuse(input.name, dim, value, HowToFree(input.name, dim, *expected));
  }
  if (expected && value != *expected) {
    Refuse(input.name, dim, value,
           fmt::format("expected {} ({})", *expected, symbol));
  }
  for (const std::string& name : size.formula->Symbols()) {
    const SizeRange* range = RangeOf(model, name);
    const auto bound = values_.find(name);
    if (range == nullptr || bound == values_.end()) continue;
    const AllowedSizes allowed = AllowedBy(*range);
    if (Contains(allowed, bound->second)) continue;
    Refuse(input.name, dim, value,
           fmt::format("the file allows {} = {}", name, Describe(allowed)));
  }
}

std::int64_t Symbols::ValueOf(const Size& size) const {
  const std::optional<std::int64_t> value =
      size.formula ? size.formula->Evaluate(values_) : std::nullopt;
  return value ? *value : size.example.value_or(1);
}

}  // namespace foretell::exported
