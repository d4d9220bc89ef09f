#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Reads what SymPy's `srepr` writes of a size that is linear in one symbol:
/// "Symbol('s77', positive=True, integer=True)", "Mul(Integer(64), Symbol(…))".
/// Other forms come back with `is_known` false.
Size ParseSize(std::string_view text);

/// "2*s77+1", "s77", "64".
std::string ToString(const Size& size);

/// What a file allows a size to be.
struct AllowedSizes {
  std::int64_t least = 0;
  std::optional<std::int64_t> most;
};

/// What PyTorch's check of inputs lets pass: every size that is left open has
/// a range from 2, as torch.export tells 0 and 1 apart from other sizes, and
/// neither is refused (`torch/_export/utils.py`).
AllowedSizes AllowedBy(const SizeRange& range);

/// The same for `size` of `model`. Where a size is no symbol alone, its check
/// is left to the run.
AllowedSizes AllowedFor(const Model& model, const Size& size);

/// Sizes of symbols in one run.
class Symbols {
 public:
  /// Takes the sizes of `shapes`, one per input of kind kUser of `model`.
  /// Throws Error(kInvalidArgument) that names the input, its dimension and
  /// both values where one is not what the file fixes, is outside of the range
  /// that it allows, or contradicts another.
  Symbols(const Model& model,
          const std::vector<std::vector<std::int64_t>>& shapes);

  /// Value of `size`; its example where the symbol is not bound.
  std::int64_t ValueOf(const Size& size) const;

 private:
  void Bind(const Model& model,
            const std::vector<std::vector<std::int64_t>>& shapes);
  void Check(const Model& model, const ModelInput& input,
             const std::vector<std::int64_t>& shape) const;

  std::map<std::string, std::int64_t> values_;
};

}  // namespace foretell::exported
