#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/terminal_style.h"
#include "src/judge/summary.h"

namespace foretell::cli {

/// `text` in the color that pages give to a part of the memory ("activations");
/// in that of other bars for an unknown part; unchanged without color.
std::string PaintedAsPart(std::string_view text, std::string_view part,
                          const TerminalStyle& style);

/// `line` with the name of each part in its color.
std::string WithPartColors(std::string line,
                           const std::vector<MemoryPart>& parts,
                           const TerminalStyle& style);

/// The share of each part of the memory as one bar of `columns` columns: in the
/// parts' colors, or in shades if the style has no color.
std::string MemoryBar(const std::vector<MemoryPart>& parts, std::size_t columns,
                      const TerminalStyle& style);

}  // namespace foretell::cli
