#include "cli/print/memory_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace foretell::cli {
namespace {

struct PartColor {
  std::string_view part;
  int code;  ///< Of the 256 colors of terminals.
};

/// The nearest ones to src/page/scripts/palette.js, row by row.
constexpr PartColor kPartColors[] = {
    {"parameters", 67},    {"workspaces", 208},      {"inputs", 71},
    {"gradients", 167},    {"activations", 109},     {"optimizer states", 139},
    {"temporaries", 221},  {"NCCL buffers", 95},     {"buffers", 217},
    {"CUDA context", 247}, {"allocator cache", 253},
};

}  // namespace

std::string PaintedAsPart(std::string_view text, std::string_view part,
                          const TerminalStyle& style) {
  const auto* row = std::ranges::find(kPartColors, part, &PartColor::part);
  if (!style.color || text.empty() || row == std::end(kPartColors)) {
    return Painted(text, Tone::kBar, style);
  }
  return fmt::format("\033[38;5;{}m{}\033[0m", row->code, text);
}

std::string WithPartColors(std::string line,
                           const std::vector<MemoryPart>& parts,
                           const TerminalStyle& style) {
  for (const MemoryPart& part : parts) {
    // Two blanks, or a comma and one: "NCCL buffers" must not match "buffers".
    for (const char* before : {", ", "  "}) {
      const std::size_t found = line.find(before + part.name + " ");
      if (found == std::string::npos) continue;
      line.replace(found + 2, part.name.size(),
                   PaintedAsPart(part.name, part.name, style));
      break;
    }
  }
  return line;
}

std::string MemoryBar(const std::vector<MemoryPart>& parts, std::size_t columns,
                      const TerminalStyle& style) {
  constexpr std::string_view kShades[] = {"█", "▓", "▒", "░"};
  double whole = 0;
  for (const MemoryPart& part : parts) whole += part.mib;
  std::string bar;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto length =
        std::lround(parts[i].mib / whole * static_cast<double>(columns));
    const std::size_t shade = style.color ? 0 : i % std::size(kShades);
    std::string piece;
    for (long column = 0; column < length; ++column) piece += kShades[shade];
    bar += PaintedAsPart(piece, parts[i].name, style);
  }
  return bar;
}

}  // namespace foretell::cli
