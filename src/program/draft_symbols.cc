#include "src/program/draft_symbols.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/text.h"
#include "src/program/dimension_names.h"

namespace foretell {

std::string PlaceOf(const Draft& draft, std::size_t dim) {
  return fmt::format("{}.{}", draft.spec->name, dim);
}

DraftSymbols SymbolsOf(const std::vector<Draft>& drafts) {
  DraftSymbols symbols;
  for (const Draft& draft : drafts) {
    for (std::size_t i = 0; i < draft.dims.size(); ++i) {
      const DraftDim& dim = draft.dims[i];
      if (!dim.IsSymbolic()) continue;
      symbols[dim.symbol].push_back(PlaceOf(draft, i));
      if (!dim.formula) continue;
      for (const std::string& symbol : dim.formula->Symbols()) symbols[symbol];
    }
  }
  return symbols;
}

bool IsBatch(const std::vector<Draft>& drafts, const std::string& symbol) {
  if (!NamesBatch(symbol)) return false;
  return std::ranges::any_of(drafts, [&](const Draft& draft) {
    if (std::ranges::count(draft.dims, symbol, &DraftDim::symbol) == 0) {
      return false;
    }
    const std::string& leading = draft.dims.front().symbol;
    return leading == symbol || !NamesBatch(leading);
  });
}

std::string ListOf(const DraftSymbols& symbols) {
  std::vector<std::string> texts;
  for (const auto& [symbol, places] : symbols) {
    texts.push_back(places.empty()
                        ? symbol
                        : fmt::format("{} ({})", symbol, Joined(places)));
  }
  return texts.empty() ? "none" : Joined(texts);
}

}  // namespace foretell
