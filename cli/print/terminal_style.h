#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foretell::cli {

/// Style of text on a terminal. The default is plain text, as for files and
/// other programs.
struct TerminalStyle {
  bool color = false;
  /// Columns that lines are broken at; 0: never, and no bars are drawn.
  std::size_t width = 0;
};

/// The style for stdout: plain if that is not a terminal. No color with
/// `no_color`, if NO_COLOR is set to anything (no-color.org), and if TERM is
/// unset or "dumb".
TerminalStyle StyleOfStdout(bool no_color);

/// What a color means.
enum class Tone { kPlain, kLabel, kGood, kDoubtful, kBad, kBar };

/// `text` in the color of a tone; unchanged if the style has no color.
std::string Painted(std::string_view text, Tone tone,
                    const TerminalStyle& style);

/// A bar of `share` (from 0 to 1) of `columns` columns, in eighths of one, at
/// least an eighth for a share above 0.
std::string BarOf(double share, std::size_t columns);

/// `text` on lines of at most `width` columns, broken at blanks, all except the
/// first with `indent` blanks in front. A word that is longer stays whole; so
/// does everything where `width` is 0. A character counts as a column.
std::string Wrapped(std::string_view text, std::size_t width,
                    std::size_t indent);

}  // namespace foretell::cli
