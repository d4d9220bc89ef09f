#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace foretell::fuzz {

/// A number below `end`, 0 where there is none.
std::size_t Below(std::size_t end, std::mt19937& random);

/// One of `inputs`, changed in one to four places: a byte replaced, a bit
/// flipped, a piece repeated, removed or taken from another input, a word
/// replaced by one of another input or by a number at a limit. The same for the
/// same state of `random`. Requires an input.
std::string Mutated(const std::vector<std::string>& inputs,
                    std::mt19937& random);

/// `text`, a graph, changed in one to three places: operands of other ranks,
/// more or fewer of them, attributes at a limit, of another type or gone,
/// results of another shape, lines of `other`. A timeline, which would name
/// what is gone, is left out. The same for the same state of `random`.
std::string MutatedGraph(std::string text, const std::string& other,
                         std::mt19937& random);

}  // namespace foretell::fuzz
