#include "cli/print/terminal_style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "src/core/name_table.h"

namespace foretell::cli {
namespace {

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kMostWidth = 100;
constexpr int kEighths = 8;

/// Codes of the tones; the bar uses the terminal's own blue.
constexpr NameTable<6> kCodes = {"", "1", "32", "33", "31", "34"};
constexpr std::array<std::string_view, kEighths> kPartsOfACell = {
    "", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::string_view kCell = "█";

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::size_t WidthOfStdout() {
  winsize size = {};
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return std::clamp<std::size_t>(known ? size.ws_col : kUsualWidth, kLeastWidth,
                                 kMostWidth);
}

/// Columns of UTF-8: bytes that begin a character.
std::size_t ColumnsOf(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

}  // namespace

TerminalStyle StyleOfStdout(bool no_color) {
  if (isatty(STDOUT_FILENO) != 1) return {};
  const char* terminal = std::getenv("TERM");
  const bool knows_color =
      terminal != nullptr && std::string_view(terminal) != "dumb";
  return {.color = knows_color && !no_color && !IsSet("NO_COLOR"),
          .width = WidthOfStdout()};
}

std::string Painted(std::string_view text, Tone tone,
                    const TerminalStyle& style) {
  if (!style.color || tone == Tone::kPlain || text.empty()) {
    return std::string(text);
  }
  std::string painted = "\033[";
  painted.append(NameIn(kCodes, tone)).append("m").append(text);
  return painted + "\033[0m";
}

std::string BarOf(double share, std::size_t columns) {
  const double exact =
      std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) * kEighths;
  const auto eighths = std::max<std::size_t>(
      static_cast<std::size_t>(std::lround(exact)), share > 0 ? 1 : 0);
  std::string bar;
  for (std::size_t i = 0; i < eighths / kEighths; ++i) bar += kCell;
  return bar.append(kPartsOfACell[eighths % kEighths]);
}

std::string Wrapped(std::string_view text, std::size_t width,
                    std::size_t indent) {
  if (width == 0) return std::string(text);
  std::string wrapped;
  std::size_t column = 0;
  while (!text.empty()) {
    // A word with the blanks before it.
    const std::size_t begin =
        std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t columns = ColumnsOf(word);
    if (column > indent && column + begin + columns > width) {
      wrapped.append("\n").append(indent, ' ').append(word);
      column = indent + columns;
    } else {
      wrapped.append(text.substr(0, end));
      column += begin + columns;
    }
    text.remove_prefix(end);
  }
  return wrapped;
}

}  // namespace foretell::cli
