#include "datasets/zoo/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "datasets/zoo/families.h"
#include "foretell/error.h"
#include "foretell/zoo.h"
#include "src/core/nearest.h"

namespace foretell::zoo {
namespace {

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

[[noreturn]] void RefuseName(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [stock, changes] : Stocks()) known.emplace_back(stock);
  const std::vector<std::string> near = Nearest(name, known);
  throw Error(
      ErrorCode::kNotFound,
      fmt::format("zoo:{}: no such network; {}", name,
                  near.empty()
                      ? "`foretell zoo list` prints their names"
                      : fmt::format("near: {}", fmt::join(near, ", "))));
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
