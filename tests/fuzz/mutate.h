#pragma once

#include <random>
#include <string>
#include <vector>

namespace foretell::fuzz {

/// One of `inputs`, changed in one to four places: a byte replaced, a bit
/// flipped, a piece repeated, removed or taken from another input, a word
/// replaced by one of another input or by a number at a limit. The same for the
/// same state of `random`. Requires an input.
std::string Mutated(const std::vector<std::string>& inputs,
                    std::mt19937& random);

}  // namespace foretell::fuzz
