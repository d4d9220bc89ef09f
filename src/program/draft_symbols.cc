#include "src/program/draft_symbols.h"

#include <fmt/core.h>

#include "src/core/text.h"

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
