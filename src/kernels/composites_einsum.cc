#include <algorithm>
#include <map>
#include <string>

#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Einsum as PyTorch runs it (`einsum`, `sumproduct_pair` in
// aten/src/ATen/native/Linear.cpp, 2.13): operands are contracted from left to
// right. An index that only one of two operands has, and that is not needed
// later, is summed first. What both have and is not needed later is contracted
// by one batched product, for which both are turned and flattened; without any
// such index they are multiplied element by element. A single operand is summed
// over what the result lacks. The result is a view.

namespace foretell::cost {
namespace {

/// An index: the byte of its letter, or a dimension under an ellipsis.
using Label = int;
using Labels = std::vector<Label>;
/// Dimensions under an ellipsis are counted from the last one down.
constexpr Label kFirstEllipsis = 256;
constexpr Label kLastEllipsis = kFirstEllipsis + 64;

struct Term {
  ValueId value;
  Labels labels;  ///< One per dimension, in order.
};

bool Has(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

/// Labels of "b...ij"; dimensions under the dots fill up to `rank`. Empty
/// optional when they do not fit.
std::optional<Labels> ParseTerm(const std::string& text, std::size_t rank) {
  const std::size_t dots = text.find("...");
  const std::size_t letters = text.size() - (dots == std::string::npos ? 0 : 3);
  if (letters > rank || (dots == std::string::npos && letters != rank)) {
    return std::nullopt;
  }
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != dots) {
      labels.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    for (std::size_t left = rank - letters; left > 0; --left) {
      labels.push_back(kLastEllipsis + 1 - static_cast<Label>(left));
    }
    i += 2;
  }
  return labels;
}

class Contraction {
 public:
  explicit Contraction(CompositeSteps& steps) : steps_(steps) {}

  bool Parse() {
    std::string text(TextOf(steps_.node(), "equation"));
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    for (std::size_t i = 0; i < steps_.num_operands(); ++i) {
      const std::size_t comma = std::min(left.find(','), left.size());
      const ValueId id = steps_.Operand(i);
      const auto labels = ParseTerm(left.substr(0, comma), steps_.RankOf(id));
      if (!labels) return false;
      terms_.push_back({id, *labels});
      left.erase(0, comma + 1);
    }
    if (!left.empty() || terms_.empty()) return false;
    return ParseResult(arrow == std::string::npos ? "" : text.substr(arrow + 2),
                       arrow != std::string::npos);
  }

  /// Requires Parse.
  ValueId Run() {
    Term product = Reduced(terms_.front(), 0);
    if (terms_.size() == 1) product = SumAlone(product, {}, 0);
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      product = Pair(product, Reduced(terms_[i], i), i);
    }
    return Turned(product, result_);
  }

 private:
  bool ParseResult(const std::string& text, bool is_given) {
    std::map<Label, int> counts;
    for (const Term& term : terms_) {
      for (const Label label : term.labels) ++counts[label];
      Labels sorted = term.labels;
      std::ranges::sort(sorted);
      if (std::ranges::adjacent_find(sorted) != sorted.end()) return false;
    }
    if (is_given) {
      const auto labels = ParseTerm(text, steps_.result().shape.size());
      if (!labels) return false;
      result_ = *labels;
    } else {  // Dimensions under an ellipsis, then letters that occur once.
      Labels letters;
      for (const auto& [label, count] : counts) {
        if (label >= kFirstEllipsis) {
          result_.push_back(label);
        } else if (count == 1) {
          letters.push_back(label);
        }
      }
      result_.insert(result_.end(), letters.begin(), letters.end());
    }
    return std::ranges::all_of(
        result_, [&](Label label) { return counts.contains(label); });
  }

  /// True when the result or an operand after `index` has the label.
  bool IsNeededAfter(Label label, std::size_t index) const {
    return Has(result_, label) ||
           std::any_of(terms_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                       terms_.end(), [label](const Term& term) {
                         return Has(term.labels, label);
                       });
  }

  /// Drops dimensions of size 1 where another operand has the label.
  Term Reduced(const Term& term, std::size_t index) {
    Term reduced = term;
    Shape shape;
    reduced.labels.clear();
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      const std::int64_t size =
          steps_.Size(term.value, static_cast<std::int64_t>(i));
      const Label label = term.labels[i];
      bool is_elsewhere = false;
      for (std::size_t k = 0; k < terms_.size(); ++k) {
        is_elsewhere =
            is_elsewhere || (k != index && Has(terms_[k].labels, label));
      }
      if (size == 1 && is_elsewhere && IsLarger(label)) continue;
      shape.push_back(size);
      reduced.labels.push_back(label);
    }
    if (shape.size() < term.labels.size()) {
      reduced.value = Reshape(steps_, term.value, shape);
    }
    return reduced;
  }

  /// True when some operand has more than one element along the label.
  bool IsLarger(Label label) const {
    return std::ranges::any_of(terms_, [&](const Term& term) {
      const auto place = std::ranges::find(term.labels, label);
      return place != term.labels.end() &&
             steps_.Size(term.value, place - term.labels.begin()) > 1;
    });
  }

  /// Sums what `other` lacks and is not needed after `index`.
  Term SumAlone(const Term& term, const Term& other, std::size_t index) {
    std::vector<std::int64_t> dims;
    Labels kept;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      const Label label = term.labels[i];
      if (Has(other.labels, label) || IsNeededAfter(label, index)) {
        kept.push_back(label);
      } else {
        dims.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (dims.empty()) return term;
    return {Reduce(steps_, "sum", term.value, dims), kept};
  }

  std::int64_t Extent(const Term& term, const Labels& labels) const {
    std::int64_t extent = 1;
    for (const Label label : labels) {
      const auto place = std::ranges::find(term.labels, label);
      extent *= steps_.Size(term.value, place - term.labels.begin());
    }
    return extent;
  }

  /// The dimensions of `term` in the order of `labels`, all of them.
  ValueId Turned(const Term& term, const Labels& labels) {
    std::vector<std::int64_t> dims;
    for (const Label label : labels) {
      dims.push_back(std::ranges::find(term.labels, label) -
                     term.labels.begin());
    }
    return Permute(steps_, term.value, dims);
  }

  Term Pair(const Term& first, const Term& second, std::size_t index) {
    const Term left = SumAlone(first, second, index);
    const Term right = SumAlone(second, first, index);
    Labels batch, rows, contracted, columns;
    for (const Label label : left.labels) {
      const bool shared = Has(right.labels, label);
      (!shared                       ? rows
       : IsNeededAfter(label, index) ? batch
                                     : contracted)
          .push_back(label);
    }
    for (const Label label : right.labels) {
      if (!Has(left.labels, label)) columns.push_back(label);
    }
    Labels all = batch;
    all.insert(all.end(), rows.begin(), rows.end());
    all.insert(all.end(), columns.begin(), columns.end());
    if (contracted.empty()) return {Multiply(left, right, all), all};
    return {Contract(left, right, {batch, rows, contracted, columns}), all};
  }

  /// Aligned to `all`, with size 1 where a factor lacks the label.
  ValueId Multiply(const Term& left, const Term& right, const Labels& all) {
    std::vector<ValueId> factors;
    for (const Term& term : {left, right}) {
      Labels own;
      Shape shape;
      for (const Label label : all) {
        const bool has = Has(term.labels, label);
        if (has) own.push_back(label);
        shape.push_back(has ? Extent(term, {label}) : 1);
      }
      factors.push_back(Reshape(steps_, Turned(term, own), shape));
    }
    return Elementwise(steps_, "mul", factors);
  }

  struct Roles {
    Labels batch, rows, contracted, columns;
  };

  ValueId Contract(const Term& left, const Term& right, const Roles& roles) {
    const auto join = [](Labels labels, const Labels& second,
                         const Labels& third) {
      labels.insert(labels.end(), second.begin(), second.end());
      labels.insert(labels.end(), third.begin(), third.end());
      return labels;
    };
    const std::int64_t batch = Extent(left, roles.batch);
    const std::int64_t rows = Extent(left, roles.rows);
    const std::int64_t contracted = Extent(left, roles.contracted);
    const std::int64_t columns = Extent(right, roles.columns);
    const ValueId a = Reshape(
        steps_, Turned(left, join(roles.batch, roles.rows, roles.contracted)),
        {batch, rows, contracted});
    const ValueId b = Reshape(
        steps_,
        Turned(right, join(roles.batch, roles.contracted, roles.columns)),
        {batch, contracted, columns});
    Shape shape;
    for (const Label label : join(roles.batch, roles.rows, {})) {
      shape.push_back(Extent(left, {label}));
    }
    for (const Label label : roles.columns) {
      shape.push_back(Extent(right, {label}));
    }
    return Reshape(steps_, Product(steps_, "bmm", a, b), std::move(shape));
  }

  CompositeSteps& steps_;
  std::vector<Term> terms_;
  Labels result_;
};

}  // namespace

bool Einsum(CompositeSteps& steps) {
  Contraction contraction(steps);
  if (!contraction.Parse()) return false;
  steps.Return(contraction.Run());
  return true;
}

}  // namespace foretell::cost
