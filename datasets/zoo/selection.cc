#include "datasets/zoo/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "datasets/zoo/families.h"
#include "datasets/zoo/hub_config.h"
#include "datasets/zoo/hub_models.h"
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
  std::vector<std::string> known = HubNames();
  for (const auto& [stock, changes] : Stocks()) known.emplace_back(stock);
  const std::vector<std::string> near = Nearest(name, known);
  throw Error(
      ErrorCode::kNotFound,
      fmt::format("zoo:{}: no such network; {}", name,
                  near.empty()
                      ? "`foretell zoo list` prints their names"
                      : fmt::format("near: {}", fmt::join(near, ", "))));
}

Selection Configured(const Stock& stock) {
  Selection selection{.family = stock.family,
                      .configuration = stock.family->configure()};
  for (const auto& [field, text] : ParseChanges(stock.changes)) {
    selection.configuration->Set(field, text);
  }
  return selection;
}

Selection FromHub(HubNetwork network, bool is_file) {
  return {.family = network.family,
          .configuration = std::move(network.configuration),
          .is_file = is_file,
          .warnings = std::move(network.warnings),
          .stated_dtype = network.dtype};
}

/// The network without changes. Only a name without kPrefix may be a file's, so
/// that requests of strangers, who have to write it, read none.
Selection Unchanged(std::string_view name, bool may_be_file) {
  if (may_be_file) {
    auto network = ReadHubFile(std::string(name));
    if (network) return FromHub(*std::move(network), true);
  }
  const std::string known = KnownHubName(name).value_or(std::string(name));
  auto network = FindHubModel(known);
  const std::string stock = StockOfHubName(known);
  const auto found = Stocks().find(stock.empty() ? name : stock);
  if (!network && found == Stocks().end()) RefuseName(name);
  Selection selection =
      network ? FromHub(*std::move(network), false) : Configured(found->second);
  if (known != name) {
    selection.warnings.push_back(fmt::format(
        "{}: predicted as {}, which has the same name", name, known));
  }
  return selection;
}

std::string_view WithoutChanges(std::string_view name) {
  return name.substr(0, name.find('?'));
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

std::string Selection::FullName() const {
  return is_file ? canonical_name : std::string(kPrefix) + canonical_name;
}

Selection Select(std::string_view name) {
  const bool has_prefix = name.starts_with(kPrefix);
  if (has_prefix) name.remove_prefix(kPrefix.size());
  const std::string_view stock_name = WithoutChanges(name);
  Selection selection = Unchanged(stock_name, !has_prefix);
  const std::vector<Field> stock = selection.configuration->Fields();
  try {
    const std::string_view changes =
        name.substr(std::min(stock_name.size() + 1, name.size()));
    for (const auto& [field, text] : ParseChanges(changes)) {
      selection.configuration->Set(field, text);
    }
  } catch (const Error& error) {
    const std::string_view prefix = selection.is_file ? "" : kPrefix;
    throw WithContext(fmt::format("{}{}", prefix, name), error);
  }
  selection.canonical_name =
      CanonicalName(stock_name, stock, selection.configuration->Fields());
  return selection;
}

bool IsNetwork(std::string_view name) {
  if (name.starts_with(kPrefix)) return true;
  const std::string base(WithoutChanges(name));
  std::error_code ignored;
  if (std::filesystem::exists(base, ignored)) {
    try {
      return ReadHubFile(base).has_value();
    } catch (const Error& error) {
      return error.code() != ErrorCode::kUnsupported;
    }
  }
  return KnownHubName(base).has_value();
}

std::string WhyNoNetwork(std::string_view name) {
  try {
    ReadHubFile(std::string(WithoutChanges(name)));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
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
