#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/program/input_draft.h"

namespace foretell {

/// Symbols of dimensions with the places where each occurs alone; a symbol
/// that is only part of formulas has no place.
using DraftSymbols = std::map<std::string, std::vector<std::string>>;

/// "ids.1".
std::string PlaceOf(const Draft& draft, std::size_t dim);
DraftSymbols SymbolsOf(const std::vector<Draft>& drafts);
/// Whether `symbol` is the batch: NamesBatch says so, and some input has it
/// without another such name as its first dimension. In waveforms [batch_size,
/// N] alone, "N" is a length.
bool IsBatch(const std::vector<Draft>& drafts, const std::string& symbol);
/// "s27 (ids.1, labels.1), s40"; "none".
std::string ListOf(const DraftSymbols& symbols);

}  // namespace foretell
