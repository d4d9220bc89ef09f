// Cost of an einsum.
//
// Operands are contracted from left to right. A product of two operands costs
// the product of the sizes of all indices that appear in either; an index stays
// afterwards when a later operand or the result needs it. Dimensions under an
// ellipsis are indices of their own, aligned at the right end.
#include <algorithm>
#include <array>
#include <bitset>
#include <string>

#include "src/core/failure.h"
#include "src/graph/macs.h"

namespace foretell {
namespace {

// Indices: the bytes of the equation's letters, then the ellipsis' dimensions,
// counted from the right.
constexpr std::size_t kFirstEllipsis = 128;
constexpr std::size_t kMaxIndices = kFirstEllipsis + 64;

using IndexSet = std::bitset<kMaxIndices>;
using IndexSizes = std::array<std::int64_t, kMaxIndices>;

std::string WithoutBlanks(std::string_view equation) {
  std::string text(equation);
  std::erase(text, ' ');
  return text;
}

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The indices of a term such as "b...ij" whose tensor has rank `rank`.
std::vector<std::size_t> Indices(std::string_view equation,
                                 const std::string& term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
  if (rank < letters || (dots == std::string::npos && rank != letters)) {
    throw InvalidArgument("einsum '{}': operand '{}' has rank {}", equation,
                          term, rank);
  }
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (std::size_t left = rank - letters; left > 0; --left) {
        indices.push_back(kFirstEllipsis + left - 1);
      }
      i += 2;
    } else if (IsLetter(term[i])) {
      indices.push_back(static_cast<unsigned char>(term[i]));
    } else {
      throw InvalidArgument("einsum '{}': unexpected '{}'", equation, term[i]);
    }
  }
  return indices;
}

/// Merges the sizes of one operand; size 1 broadcasts.
IndexSet Merge(std::string_view equation, const std::string& term,
               const Shape& shape, IndexSizes& sizes) {
  const std::vector<std::size_t> indices =
      Indices(equation, term, shape.size());
  IndexSet set;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= kMaxIndices) {
      throw InvalidArgument("einsum '{}': rank exceeds 64", equation);
    }
    std::int64_t& size = sizes[indices[i]];
    if (size > 1 && shape[i] > 1 && size != shape[i]) {
      throw InvalidArgument(
          "einsum '{}': an index of '{}' has size {}, earlier {}", equation,
          term, shape[i], size);
    }
    if (size < 0 || size == 1) size = shape[i];
    set.set(indices[i]);
  }
  return set;
}

/// Refuses other sizes that are too large even if one is 0: readers of the
/// graph multiply some of them.
std::int64_t ProductOf(const IndexSet& set, const IndexSizes& sizes) {
  std::int64_t product = 1;
  bool is_empty = false;
  for (std::size_t i = 0; i < kMaxIndices; ++i) {
    if (!set[i]) continue;
    is_empty = is_empty || sizes[i] == 0;
    product = MulMacs(product, std::max<std::int64_t>(1, sizes[i]));
  }
  return is_empty ? 0 : product;
}

/// Indices of the result; without "->" those that occur once, and the ellipsis.
IndexSet ResultIndices(const std::string& text, const std::string& terms) {
  IndexSet set;
  for (std::size_t i = kFirstEllipsis; i < kMaxIndices; ++i) set.set(i);
  const std::size_t arrow = text.find("->");
  const std::string& source =
      arrow == std::string::npos ? terms : text.substr(arrow + 2);
  for (const char c : source) {
    if (!IsLetter(c)) continue;
    const bool once = std::count(terms.begin(), terms.end(), c) == 1;
    if (arrow != std::string::npos || once) {
      set.set(static_cast<unsigned char>(c));
    }
  }
  return set;
}

}  // namespace

std::int64_t EinsumMacs(std::string_view equation,
                        const std::vector<Shape>& shapes) {
  const std::string text = WithoutBlanks(equation);
  const std::string left = text.substr(0, text.find("->"));
  const std::vector<std::string> terms = SplitAt(left, ',');
  if (terms.size() != shapes.size()) {
    throw InvalidArgument("einsum '{}': names {} operands, the operator has {}",
                          equation, terms.size(), shapes.size());
  }
  IndexSizes sizes;
  sizes.fill(-1);
  std::vector<IndexSet> sets;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sets.push_back(Merge(equation, terms[i], shapes[i], sizes));
  }
  // needed[i]: indices that operand i or a later one, or the result, uses.
  std::vector<IndexSet> needed(sets.size() + 1);
  needed.back() = ResultIndices(text, left);
  for (std::size_t i = sets.size(); i-- > 0;) {
    needed[i] = needed[i + 1] | sets[i];
  }
  std::int64_t macs = 0;
  IndexSet product = sets.front();
  for (std::size_t i = 1; i < sets.size(); ++i) {
    product |= sets[i];
    macs = AddMacs(macs, ProductOf(product, sizes));
    product &= needed[i + 1];
  }
  return macs;
}

}  // namespace foretell
