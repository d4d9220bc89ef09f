#include "src/program/sequence_length.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/failure.h"
#include "src/program/dimension_names.h"
#include "src/program/draft_symbols.h"
#include "src/program/size_expression.h"

namespace foretell {
namespace {

[[noreturn]] void Refuse(const std::string& origin, std::int64_t length,
                         const std::string& why) {
  throw InvalidArgument("{}: {} {}: {}", origin, kSequenceLength, length, why);
}

/// The leading dimension of the first input is the batch, whatever its name.
bool IsLeading(const std::vector<Draft>& drafts, const std::string& symbol) {
  const auto first = std::ranges::find_if(
      drafts, [](const Draft& draft) { return !draft.dims.empty(); });
  return first != drafts.end() && first->dims.front().symbol == symbol;
}

/// Symbols that may be lengths: neither the batch nor formulas.
DraftSymbols Candidates(const std::vector<Draft>& drafts) {
  DraftSymbols symbols = SymbolsOf(drafts);
  std::erase_if(symbols, [&](const auto& row) {
    const auto formula = SizeExpression::Parse(row.first);
    return IsBatch(drafts, row.first) || IsLeading(drafts, row.first) ||
           (formula && !formula->IsSymbol());
  });
  return symbols;
}

/// Those of `symbols` with a name typical of lengths; all if none has one.
DraftSymbols LikeLengths(const DraftSymbols& symbols) {
  DraftSymbols lengths = symbols;
  std::erase_if(lengths,
                [](const auto& row) { return !NamesLength(row.first); });
  return lengths.empty() ? symbols : lengths;
}

/// "ids.1": places behind the batch that have neither name nor size; empty
/// where others are open too, as the edges of images.
std::vector<std::string> OpenPlaces(const std::vector<Draft>& drafts) {
  std::vector<std::string> places;
  for (const Draft& draft : drafts) {
    for (std::size_t i = 1; i < draft.dims.size(); ++i) {
      if (draft.dims[i].value || draft.dims[i].IsSymbolic()) continue;
      if (i > 1) return {};
      places.push_back(PlaceOf(draft, i));
    }
  }
  return places;
}

bool Fixes(const std::vector<Draft>& drafts, std::int64_t length) {
  return std::ranges::any_of(drafts, [&](const Draft& draft) {
    return std::ranges::any_of(draft.dims, [&](const DraftDim& dim) {
      return &dim != &draft.dims.front() && dim.value == length;
    });
  });
}

/// The names of the dimensions that are the length; empty if the file fixes it
/// at `length`.
std::vector<std::string> LengthNames(const std::vector<Draft>& drafts,
                                     std::int64_t length,
                                     const std::string& origin) {
  const DraftSymbols symbols = LikeLengths(Candidates(drafts));
  if (symbols.size() == 1) return {symbols.begin()->first};
  if (symbols.size() > 1) {
    Refuse(origin, length,
           "the model has several lengths; --dim NAME=SIZE sets one of " +
               ListOf(symbols));
  }
  std::vector<std::string> places = OpenPlaces(drafts);
  if (places.empty() && !Fixes(drafts, length)) {
    Refuse(origin, length,
           "the model leaves no length open; --input NAME=TYPE[SHAPE] sets "
           "whole shapes");
  }
  return places;
}

}  // namespace

std::map<std::string, std::int64_t> SizesByName(
    const std::vector<Draft>& drafts, const InputRequest& request,
    const std::string& origin) {
  std::map<std::string, std::int64_t> sizes = request.dims;
  const auto said = sizes.extract(kSequenceLength);
  if (said.empty()) return sizes;
  const std::int64_t length = said.mapped();
  for (const std::string& name : LengthNames(drafts, length, origin)) {
    const auto [known, is_new] = sizes.emplace(name, length);
    if (is_new || known->second == length) continue;
    Refuse(origin, length,
           fmt::format("--dim {}={} contradicts it", name, known->second));
  }
  return sizes;
}

}  // namespace foretell
