#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "src/program/size_expression.h"

namespace foretell {

/// A dimension whose size is being found.
struct DraftDim : InputDim {
  /// Its symbol parsed; empty if that is not a formula.
  std::optional<SizeExpression> formula = {};
  bool is_given = false;  ///< The request gives its size.

  /// True if the file leaves it open, or makes it follow from others.
  bool IsSymbolic() const { return !symbol.empty(); }
};

/// An input whose dimensions are being filled in.
struct Draft {
  const InputSpec* spec = nullptr;
  DType dtype = DType::kF32;
  std::vector<DraftDim> dims = {};
  bool has_rank = false;
  std::map<std::size_t, std::string> from_example = {};  ///< As BoundInput.
};

}  // namespace foretell
