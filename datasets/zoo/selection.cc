#include "datasets/zoo/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>

#include "datasets/zoo/families.h"
#include "foretell/error.h"
#include "foretell/zoo.h"

namespace foretell::zoo {
namespace {

constexpr std::size_t kSuggestions = 3;

struct Stock {
  const Family* family;
  std::string_view changes;
};

/// Stock networks and families by name.
const std::map<std::string_view, Stock>& Stocks() {
  static const std::map<std::string_view, Stock> kStocks = [] {
    std::map<std::string_view, Stock> stocks;
    for (const Family& family : Families()) {
      stocks.emplace(family.name, Stock{&family, ""});
      for (const Variant& variant : family.variants) {
        stocks.insert_or_assign(variant.name, Stock{&family, variant.changes});
      }
    }
    return stocks;
  }();
  return kStocks;
}

/// Levenshtein distance.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({row[k] + 1, row[k - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// Names the nearest ones: first those that go on where `name` ends.
[[noreturn]] void RefuseName(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const auto& [known, stock] : Stocks()) {
    const bool abbreviated = !name.empty() && known.starts_with(name);
    near.emplace_back(abbreviated ? 0 : Distance(name, known), known);
  }
  std::sort(near.begin(), near.end());
  near.resize(std::min(kSuggestions, near.size()));
  throw Error(ErrorCode::kNotFound,
              fmt::format("zoo:{}: no such network; near: {}", name,
                          fmt::join(near | std::views::values, ", ")));
}

std::unique_ptr<Configuration> Configured(const Stock& stock) {
  std::unique_ptr<Configuration> configuration = stock.family->configure();
  for (const auto& [field, text] : ParseChanges(stock.changes)) {
    configuration->Set(field, text);
  }
  return configuration;
}

std::string CanonicalName(std::string_view stock_name,
                          const std::vector<Field>& stock,
                          const std::vector<Field>& fields) {
  std::string name(stock_name);
  char separator = '?';
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == stock[i]) continue;
    name += fmt::format("{}{}={}", separator, fields[i].name,
                        FormatValue(fields[i].value));
    separator = '&';
  }
  return name;
}

}  // namespace

Selection Select(std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const std::size_t question = std::min(name.find('?'), name.size());
  const std::string_view stock_name = name.substr(0, question);
  const auto found = Stocks().find(stock_name);
  if (found == Stocks().end()) RefuseName(stock_name);

  Selection selection{.family = found->second.family};
  selection.configuration = Configured(found->second);
  const std::vector<Field> stock = selection.configuration->Fields();
  try {
    const std::string_view changes =
        question == name.size() ? "" : name.substr(question + 1);
    for (const auto& [field, text] : ParseChanges(changes)) {
      selection.configuration->Set(field, text);
    }
  } catch (const Error& error) {
    throw WithContext(std::string(kPrefix) + std::string(name), error);
  }
  selection.canonical_name =
      CanonicalName(stock_name, stock, selection.configuration->Fields());
  return selection;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Family& family : Families()) {
    for (const Variant& variant : family.variants) {
      names.emplace_back(variant.name);
    }
  }
  return names;
}

}  // namespace foretell::zoo
