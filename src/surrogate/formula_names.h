#pragma once

#include <string>
#include <vector>

namespace foretell::surrogate {

/// Names of columns in a formula: distinct, valid variable names in Python, awk
/// and JavaScript. Replaces all characters except letters, digits and `_` by
/// `_`, and adds a `_` to a leading digit, a reserved word of these languages
/// (`length`, `lambda`) and a duplicate.
std::vector<std::string> FormulaNames(const std::vector<std::string>& columns);

}  // namespace foretell::surrogate
