#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace foretell::fuzz {
namespace {

constexpr auto kOperands = std::to_array<std::string_view>(
    {"input f32[]",
     "input f32[0]",
     "input f32[3]",
     "input f32[2,3]",
     "input f32[2,3,4]",
     "input f32[2,4,4,4]",
     "input f32[1,2,3,4,5]",
     "input i64[]",
     "input i64[4]",
     "weight f32[]",
     "weight f32[7]",
     "weight f32[5,7]",
     "weight f16[4,4,3,3]",
     "input bool[2,2]",
     "input f32[2,3] strides=[1, 2]",
     "input f32[2,4,4,4] strides=[64, 1, 16, 4]",
     "weight f16[4,4,1,1] strides=[4, 1, 4, 4]",
     "input f32[2,3] strides=[0, 0]",
     "input c64[2,2]",
     "input f32[0,0,0,0]",
     "input f32[36028797018963968]",
     "input f8[268435456,268435456]",
     "input f32[1,1,1,1,1,1,1,1,1,1]"});
constexpr auto kValues =
    std::to_array<std::string_view>({"0",
                                     "1",
                                     "-1",
                                     "2",
                                     "3",
                                     "-4",
                                     "2147483647",
                                     "2147483648",
                                     "4611686018427387904",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "true",
                                     "0.5",
                                     "1e300",
                                     "\"x\"",
                                     "[]",
                                     "[0]",
                                     "[1]",
                                     "[-1]",
                                     "[0, 0]",
                                     "[1, 0]",
                                     "[3, 1]",
                                     "[9223372036854775807, 2]",
                                     "[1, 1, 1, 1, 1]",
                                     "floats[]",
                                     "floats[0.0]"});
constexpr auto kShapes = std::to_array<std::string_view>(
    {"f32[]", "f32[0]", "f32[3]", "f32[2,3]", "f32[2,3,4]", "f16[2,4,4,4]",
     "i64[2]", "f32[2,3] strides=[1, 2]", "f32[2,3,4] strides=[24, 2, 6]",
     "f16[2,4,4,4] strides=[64, 1, 16, 4]",
     "f32[3] strides=[9223372036854775807]", "f32[1,2,3,4,5]",
     "f32[1048576,1048576]", "u8[72057594037927936]"});
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"0", "1", "2", "3", "5", "8", "64", "65536", "2147483647",
     "1152921504606846976"});

template <typename List>
std::string OneOf(const List& list, std::mt19937& random) {
  return std::string(list[Below(list.size(), random)]);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

/// Parts of `list` between commas that stand in no bracket.
std::vector<std::string> Parts(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  for (std::size_t begin = 0, i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    while (begin < i && list[begin] == ' ') ++begin;
    if (i > begin) parts.emplace_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

/// Between the first `open` of the line and the `close` after it; empty where
/// there is none.
std::pair<std::size_t, std::size_t> Between(const std::string& line, char open,
                                            char close) {
  const std::size_t begin = line.find(open);
  if (begin == std::string::npos) return {};
  const std::size_t end = line.find(close, begin);
  if (end == std::string::npos) return {};
  return {begin + 1, end};
}

void ChangeParts(std::vector<std::string>& parts, const std::string& fresh,
                 std::mt19937& random) {
  const std::size_t place = Below(parts.size() + 1, random);
  const auto at = parts.begin() + static_cast<std::ptrdiff_t>(place);
  if (place == parts.size() || random() % 4 == 0) {
    parts.insert(at, fresh);
  } else if (random() % 4 == 0) {
    parts.erase(at);
  } else {
    *at = fresh;
  }
}

void ChangeOperands(std::string& line, std::mt19937& random) {
  const auto [begin, end] = Between(line, '(', ')');
  if (begin == 0) return;
  std::vector<std::string> parts = Parts(line.substr(begin, end - begin));
  ChangeParts(parts, OneOf(kOperands, random), random);
  line.replace(begin, end - begin, Joined(parts));
}

/// The value of an attribute, or all of it.
void ChangeAttribute(std::string& line, std::mt19937& random) {
  const auto [begin, end] = Between(line, '{', '}');
  if (begin == 0) return;
  std::vector<std::string> parts = Parts(line.substr(begin, end - begin));
  if (parts.empty()) return;
  std::string& part = parts[Below(parts.size(), random)];
  part.resize(std::min(part.find('='), part.size()));
  part += "=" + OneOf(kValues, random);
  if (random() % 8 == 0) parts.pop_back();
  line.replace(begin, end - begin, Joined(parts));
}

/// One of the shapes after the operands.
void ChangeResult(std::string& line, std::mt19937& random) {
  const std::size_t colon = line.rfind(" : ");
  if (colon == std::string::npos) return;
  std::vector<std::string> parts = Parts(line.substr(colon + 3));
  if (parts.empty()) return;
  std::string& part = parts[Below(parts.size(), random)];
  part.replace(0, std::min(part.find(']') + 1, part.size()),
               OneOf(kShapes, random));
  line.replace(colon + 3, std::string::npos, Joined(parts));
}

void ChangeNumber(std::string& line, std::mt19937& random) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t from = Below(line.size(), random);
  const std::size_t begin = line.find_first_of(kDigits, from);
  if (begin == std::string::npos) return;
  const std::size_t end =
      std::min(line.find_first_not_of(kDigits, begin), line.size());
  line.replace(begin, end - begin, OneOf(kNumbers, random));
}

/// The operator of another line.
void ChangeOperator(std::string& line, const std::string& from) {
  const auto name = [](const std::string& text) {
    const std::size_t end = text.find('(');
    if (end == std::string::npos) return std::pair<std::size_t, std::size_t>();
    const std::size_t begin = text.rfind(' ', end) + 1;
    return std::pair(begin, end);
  };
  const auto [begin, end] = name(line);
  const auto [first, last] = name(from);
  if (end == 0 || last == 0) return;
  line.replace(begin, end - begin, from.substr(first, last - first));
}

}  // namespace

std::string MutatedGraph(std::string text, const std::string& other,
                         std::mt19937& random) {
  const std::size_t timeline = text.find("\ntimeline");
  if (timeline != std::string::npos) text.resize(timeline + 1);
  std::vector<std::string> lines = Lines(text);
  const std::vector<std::string> others = Lines(other);
  const std::size_t changes = 1 + random() % 3;
  for (std::size_t i = 0; i < changes && !lines.empty(); ++i) {
    const std::size_t place = Below(lines.size(), random);
    std::string& line = lines[place];
    switch (random() % 8) {
      case 0:
      case 1:
        ChangeOperands(line, random);
        break;
      case 2:
      case 3:
        ChangeAttribute(line, random);
        break;
      case 4:
        ChangeResult(line, random);
        break;
      case 5:
        ChangeNumber(line, random);
        break;
      case 6:
        ChangeOperator(line, others[Below(others.size(), random)]);
        break;
      default:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place),
                     others[Below(others.size(), random)]);
    }
  }
  std::string joined;
  for (const std::string& line : lines) joined += line + "\n";
  joined.pop_back();
  return joined;
}

}  // namespace foretell::fuzz
