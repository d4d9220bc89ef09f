#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// A size that the file fixes.
Size FixedSize(std::int64_t size);

/// Reads what SymPy's `srepr` writes: "Mul(Integer(64), Symbol('s77', …))".
Size ParseSize(std::string_view text);

/// "2*s77+1", "s77", or the file's own text if the form is unknown; "" for a
/// fixed size.
std::string SymbolOf(const Size& size);

/// Sizes that a file allows.
struct AllowedSizes {
  std::int64_t least = 0;
  std::optional<std::int64_t> most;
};

/// What PyTorch's check of inputs accepts: every open size has a range from 2,
/// since torch.export distinguishes 0 and 1 from other sizes, but neither is
/// refused (`torch/_export/utils.py`).
AllowedSizes AllowedBy(const SizeRange& range);

/// The same for `size` of `model`. If a size is not a single symbol, its check
/// is left to the run.
AllowedSizes AllowedFor(const Model& model, const Size& size);

/// True if `input` is a number that the caller gives and that does not follow
/// from the tensors' sizes.
bool IsGivenNumber(const Model& model, const ModelInput& input);

/// Sizes of symbols in one run.
class Symbols {
 public:
  /// Binds the sizes of `shapes`, one per input of kind kUser of `model`, and
  /// its `numbers`, one per IsGivenNumber. Throws Error(kInvalidArgument) that
  /// names the input, its dimension and both values if a size differs from one
  /// that the file fixes, is outside its allowed range, or contradicts another.
  Symbols(const Model& model,
          const std::vector<std::vector<std::int64_t>>& shapes,
          const std::vector<std::int64_t>& numbers);

  /// Value of `size`; its example if a symbol is not bound.
  std::int64_t ValueOf(const Size& size) const;

 private:
  void Bind(const Model& model,
            const std::vector<std::vector<std::int64_t>>& shapes,
            const std::vector<std::int64_t>& numbers);
  void Check(const Model& model, const ModelInput& input,
             const std::vector<std::int64_t>& shape) const;
  void CheckSize(const Model& model, const ModelInput& input, std::size_t dim,
                 std::int64_t value) const;

  SizeExpression::Values values_;
};

}  // namespace foretell::exported
