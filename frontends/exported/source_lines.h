#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretell::exported {

/// The line that a frame of Python has reached.
struct SourceLine {
  std::string file;  ///< "model.py".
  std::string line;  ///< "12".
  std::string text;  ///< "x = self.fc(x)"; the first line of a longer one.
};

/// Returns the frames of `trace`, outermost first: "File "a/model.py", line 12,
/// in forward" and the line's text below. Exports of torch >= 2.5 have those of
/// modules' forward() alone (torch/fx/proxy.py, _filter_traceback_frames).
std::vector<SourceLine> SourceLinesOf(std::string_view trace);

/// Returns the variables that a line assigns: of "x = …", "x: Tensor = …",
/// "x += …" and "x, y = …"; none for any other text, such as the keyword of a
/// call that spans lines.
std::vector<std::string> AssignedNames(std::string_view text);

}  // namespace foretell::exported
