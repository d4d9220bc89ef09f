#pragma once

#include <string>
#include <vector>

namespace foretell::surrogate {

/// What columns are called in a formula that is pasted: names of variables in
/// Python, awk and JavaScript, all different. What is no letter, digit or `_`
/// becomes `_`; a leading digit, a word that one of these languages keeps for
/// itself (`length`, `lambda`) and a name that was given before get a `_` more.
std::vector<std::string> FormulaNames(const std::vector<std::string>& columns);

}  // namespace foretell::surrogate
