#include "src/graph/attribute_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/graph/attribute_table.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

using Ints = std::vector<std::int64_t>;

struct NamedRule {
  std::string_view attribute;
  const AttributeRule* rule;
};
using RuleIndex = std::unordered_map<std::string_view, std::vector<NamedRule>>;

/// Calls `use` with each of `words`, which single blanks separate.
template <typename Use>
void ForEachWord(std::string_view words, const Use& use) {
  while (!words.empty()) {
    const std::size_t length = std::min(words.find(' '), words.size());
    use(words.substr(0, length));
    words.remove_prefix(std::min(length + 1, words.size()));
  }
}

RuleIndex IndexRules() {
  RuleIndex index;
  for (const AttributeRow& row : kAttributeRows) {
    ForEachWord(row.operators, [&](std::string_view target) {
      ForEachWord(row.attributes, [&](std::string_view attribute) {
        index[target].push_back({attribute, &row.rule});
      });
    });
  }
  return index;
}

std::span<const NamedRule> RulesOf(std::string_view target) {
  static const RuleIndex index = IndexRules();
  if (target.ends_with('_') && !target.ends_with("__")) target.remove_suffix(1);
  const auto found = index.find(target);
  if (found == index.end()) return {};
  return found->second;
}

/// The rule for attribute `name` of `target`; null if there is none.
const AttributeRule* RuleOf(std::string_view target, std::string_view name) {
  if (name == kTimesAttribute) return &kTimesRule;
  const std::span<const NamedRule> rules = RulesOf(target);
  const auto named = std::ranges::find(rules, name, &NamedRule::attribute);
  return named == rules.end() ? nullptr : named->rule;
}

/// Dimensions of the tensor that `rule` counts; empty if the node lacks it.
std::optional<std::size_t> RankFor(const OperatorGraph& graph, const Node& node,
                                   CountedTensor tensor) {
  const auto rank_at = [&](const std::vector<ValueId>& ids, std::size_t index) {
    return index < ids.size()
               ? std::optional(graph.value(ids[index]).type.shape.size())
               : std::nullopt;
  };
  switch (tensor) {
    case CountedTensor::kFirst:
      return rank_at(node.inputs, 0);
    case CountedTensor::kSecond:
      return rank_at(node.inputs, 1);
    case CountedTensor::kResult:
      return rank_at(node.outputs, 0);
    case CountedTensor::kWidest:
      break;
  }
  std::optional<std::size_t> widest;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    widest = std::max(widest, rank_at(node.inputs, i));
  }
  return widest;
}

/// The integers of an attribute, of which one counts as a list of one.
std::optional<Ints> IntsIn(const Attribute& value) {
  if (const auto* list = std::get_if<Ints>(&value)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return Ints{*number};
  }
  // The text form of an empty list of either type is the same.
  const auto* reals = std::get_if<std::vector<double>>(&value);
  if (reals != nullptr && reals->empty()) return Ints{};
  return std::nullopt;
}

/// One attribute, held against its rule.
class Check {
 public:
  Check(std::string_view name, const Attribute& value,
        const AttributeRule& rule, std::optional<std::size_t> rank)
      : name_(name), value_(value), rule_(rule), rank_(rank) {}

  void Run() const {
    switch (rule_.form) {
      case AttributeForm::kDim:
        return RequireDims(1, 1);
      case AttributeForm::kDims:
        RequireDims(0, Dimensions());
        return RequireDifferent();
      case AttributeForm::kDimsInTurn:
        return RequireDims(0, kMaxRank);
      case AttributeForm::kPermutation:
        RequireDims(rank_.value_or(0), rank_.value_or(kMaxRank));
        return RequireDifferent();
      case AttributeForm::kExtents:
        return RequireIntegers(0, rank_.value_or(kMaxRank));
      case AttributeForm::kInteger:
        return RequireIntegers(1, 1);
      case AttributeForm::kIntegers:
        return RequireIntegers(rule_.fewest_items, rule_.most_items);
      case AttributeForm::kIntegersOrText:
        if (std::holds_alternative<std::string>(value_)) return;
        return RequireIntegers(rule_.fewest_items, rule_.most_items);
      case AttributeForm::kFlags:
        return RequireIntegers(0, rule_.most_items);
      case AttributeForm::kFlag:
        return RequireFlag();
      case AttributeForm::kReal:
        return RequireReal();
      case AttributeForm::kText:
        return Require(std::holds_alternative<std::string>(value_), "text");
    }
  }

 private:
  void Require(bool holds, const std::string& expected) const {
    if (holds) return;
    constexpr std::size_t kLongest = 200;
    std::string given = AttributeText(value_);
    if (given.size() > kLongest) given.replace(kLongest, given.size(), "…");
    throw InvalidArgument("{} is {}, expected {}", name_, given, expected);
  }

  /// A scalar has one dimension for PyTorch.
  std::size_t Dimensions() const {
    return std::max<std::size_t>(1, rank_.value_or(kMaxRank));
  }

  Ints List(std::size_t fewest, std::size_t most) const {
    const std::optional<Ints> list = IntsIn(value_);
    Require(list.has_value(), most == 1 ? "an integer" : "integers");
    Require(list->size() >= fewest && list->size() <= most,
            fewest == most ? Counted(fewest, "integer")
                           : fmt::format("{} to {} integers", fewest, most));
    return *list;
  }

  void RequireWithin(const Ints& list, std::int64_t least,
                     std::int64_t most) const {
    const bool are_within = std::ranges::all_of(list, [&](std::int64_t number) {
      return number >= least && number <= most;
    });
    Require(are_within, fmt::format("{} to {}", least, most));
  }

  void RequireIntegers(std::size_t fewest, std::size_t most) const {
    RequireWithin(List(fewest, most), rule_.least, rule_.most);
  }

  void RequireDims(std::size_t fewest, std::size_t most) const {
    const auto dimensions = static_cast<std::int64_t>(Dimensions());
    RequireWithin(List(fewest, most), -dimensions, dimensions - 1);
  }

  void RequireDifferent() const {
    Ints dims = *IntsIn(value_);
    for (std::int64_t& dim : dims) {
      if (dim < 0) dim += static_cast<std::int64_t>(Dimensions());
    }
    std::ranges::sort(dims);
    const bool differ = std::ranges::adjacent_find(dims) == dims.end();
    Require(differ || !rank_, "every dimension once at most");
  }

  void RequireFlag() const {
    const auto* number = std::get_if<std::int64_t>(&value_);
    Require(std::holds_alternative<bool>(value_) ||
                (number != nullptr && (*number == 0 || *number == 1)),
            "true or false");
  }

  void RequireReal() const {
    Require(std::holds_alternative<double>(value_) ||
                std::holds_alternative<std::int64_t>(value_),
            "a number");
  }

  std::string_view name_;
  const Attribute& value_;
  const AttributeRule& rule_;
  std::optional<std::size_t> rank_;
};

}  // namespace

void CheckAttributes(const OperatorGraph& graph, const Node& node) {
  for (const auto& [name, value] : node.attributes) {
    const AttributeRule* const rule = RuleOf(node.target, name);
    if (rule == nullptr) continue;
    Check(name, value, *rule, RankFor(graph, node, rule->tensor)).Run();
  }
}

}  // namespace foretell
