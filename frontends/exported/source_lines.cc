#include "frontends/exported/source_lines.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace foretell::exported {
namespace {

std::string_view Trimmed(std::string_view text, std::string_view of = " ") {
  const std::size_t begin = text.find_first_not_of(of);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(of) - begin + 1);
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char each) {
    return each == '_' || std::isalnum(each) != 0;
  });
}

/// What stands left of the first "=" between blanks, empty without one. A
/// keyword of a call has no blanks, or ends in a comma.
std::string_view TargetOf(std::string_view text) {
  if (text.ends_with(',')) return {};
  const std::size_t equals = text.find("= ");
  if (equals == std::string_view::npos) return {};
  const std::string_view target = text.substr(0, equals);
  const std::size_t last = target.find_last_not_of("+-*/@%&|^<>");
  return last == std::string_view::npos || target[last] != ' '
             ? std::string_view()
             : target.substr(0, last);
}

}  // namespace

std::vector<SourceLine> SourceLinesOf(std::string_view trace) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  std::vector<SourceLine> lines;
  for (std::size_t begin = trace.find(kFile); begin != std::string_view::npos;
       begin = trace.find(kFile)) {
    trace.remove_prefix(begin + kFile.size());
    const std::size_t end = trace.find(kLine);
    if (end == std::string_view::npos) break;
    std::string_view file = trace.substr(0, end);
    file.remove_prefix(file.rfind('/') + 1);
    trace.remove_prefix(end + kLine.size());
    const std::string_view line = trace.substr(0, trace.find(','));
    trace.remove_prefix(std::min(trace.find('\n'), trace.size() - 1) + 1);
    lines.push_back(
        {.file = std::string(file),
         .line = std::string(line),
         .text = std::string(Trimmed(trace.substr(0, trace.find('\n'))))});
  }
  return lines;
}

std::vector<std::string> AssignedNames(std::string_view text) {
  std::string_view target = TargetOf(text);
  target = target.substr(0, target.find(':'));
  std::vector<std::string> names;
  while (!target.empty()) {
    const std::string_view one = target.substr(0, target.find(','));
    const std::string_view name = Trimmed(one, " *()[]");
    if (IsName(name)) names.emplace_back(name);
    target.remove_prefix(std::min(one.size() + 1, target.size()));
  }
  return names;
}

}  // namespace foretell::exported
