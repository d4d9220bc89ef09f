#include "src/program/derive_sizes.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "src/core/failure.h"

namespace foretell {
namespace {

using Values = SizeExpression::Values;

/// Calls `visit(draft, position, dim)` on every dimension.
template <typename Visit>
void ForEachDim(std::vector<Draft>& drafts, const Visit& visit) {
  for (Draft& draft : drafts) {
    for (std::size_t i = 0; i < draft.dims.size(); ++i) {
      visit(draft, i, draft.dims[i]);
    }
  }
}

/// Sizes of symbols as in the file's example.
Values ExamplesOf(const std::vector<Draft>& drafts) {
  std::vector<SizeEquation> equations;
  for (const Draft& draft : drafts) {
    if (!draft.spec->dims) continue;
    for (const InputDim& dim : *draft.spec->dims) {
      if (!dim.value || dim.symbol.empty()) continue;
      if (auto formula = SizeExpression::Parse(dim.symbol)) {
        equations.push_back({*std::move(formula), *dim.value});
      }
    }
  }
  Values examples;
  SolveSizes(equations, examples);
  return examples;
}

/// Whether `name` occurs in `text` as a whole word.
bool Mentions(std::string_view text, std::string_view name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

class SizeDeriver {
 public:
  SizeDeriver(std::vector<Draft>& drafts, const std::string& origin)
      : drafts_(drafts), origin_(origin), examples_(ExamplesOf(drafts)) {}

  void Derive(std::vector<SizeEquation> said) {
    equations_ = std::move(said);
    ForEachDim(drafts_, [&](const Draft&, std::size_t, const DraftDim& dim) {
      if (!dim.is_given || !dim.formula || !dim.value) return;
      equations_.push_back({*dim.formula, *dim.value});
    });
    SolveSizes(equations_, known_);
    said_ = known_;
    ForEachDim(drafts_, [&](Draft& draft, std::size_t i, DraftDim& dim) {
      if (!dim.is_given && dim.IsSymbolic() && !Compute(dim)) {
        TakeExample(draft, i, dim);
      }
    });
    // A symbol's example may have come after a formula of it.
    ForEachDim(drafts_, [&](Draft& draft, std::size_t i, DraftDim& dim) {
      if (dim.is_given || !Compute(dim)) return;
      if (taken_.contains(dim.symbol)) {
        draft.from_example.emplace(i, dim.symbol);
      }
    });
  }

 private:
  bool Compute(DraftDim& dim) const {
    if (!dim.formula) return false;
    const auto size = dim.formula->Evaluate(known_);
    if (size) dim.value = *size;
    return size.has_value();
  }

  void TakeExample(Draft& draft, std::size_t place, DraftDim& dim) {
    if (!dim.value) return;
    bool is_all = dim.formula.has_value();
    bool is_new = false;
    if (dim.formula) {
      for (const std::string& symbol : dim.formula->Symbols()) {
        if (known_.contains(symbol)) continue;
        is_new = true;
        is_all = Take(symbol) && is_all;
      }
    }
    is_all = is_all && Compute(dim);
    if (!is_all && FollowsFromOthers(dim)) Refuse(draft, place, dim);
    if (!dim.formula || is_new) {
      draft.from_example.emplace(place, dim.symbol);
    }
  }

  /// Gives `symbol` its example, and others what follows from that.
  bool Take(const std::string& symbol) {
    const auto example = examples_.find(symbol);
    if (example == examples_.end()) return false;
    known_.insert(*example);
    taken_.insert(symbol);
    SolveSizes(equations_, known_);
    return true;
  }

  /// Whether a size that the request gave, and that differs in the example, is
  /// part of `dim`.
  bool FollowsFromOthers(const DraftDim& dim) const {
    return std::ranges::any_of(said_, [&](const auto& entry) {
      const auto example = examples_.find(entry.first);
      const bool is_other =
          example == examples_.end() || example->second != entry.second;
      return is_other && Mentions(dim.symbol, entry.first);
    });
  }

  [[noreturn]] void Refuse(const Draft& draft, std::size_t place,
                           const DraftDim& dim) const {
    const std::string& name = draft.spec->name;
    throw InvalidArgument(
        "{}: input '{}': dimension {} is '{}', {} in the file's example, and "
        "cannot be computed for other sizes; use --dim {}.{}=N or --input {}=…",
        origin_, name, place, dim.symbol, *dim.value, name, place, name);
  }

  std::vector<Draft>& drafts_;
  const std::string& origin_;
  Values examples_;
  std::vector<SizeEquation> equations_;  ///< Stated by the request.
  std::set<std::string> taken_;          ///< Symbols that have their example.
  Values said_;   ///< By the request, or following from it.
  Values known_;  ///< These, and examples of the others.
};

}  // namespace

void DeriveSizes(std::vector<Draft>& drafts,
                 const std::vector<SizeEquation>& said,
                 const std::string& origin) {
  SizeDeriver(drafts, origin).Derive(said);
}

}  // namespace foretell
