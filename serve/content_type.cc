#include "serve/content_type.h"

namespace foretell::serve {
namespace {

constexpr std::string_view kBlanks = " \t";

char Lower(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string WithNamesInLowerCase(std::string_view content_type) {
  std::string text(content_type);
  bool in_value = false;
  bool in_quotes = false;
  for (char& c : text) {
    if (c == '"') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (c == '=') in_value = true;
    if (c == ';') in_value = false;
    if (!in_value) c = Lower(c);
  }
  return text;
}

std::string MediaType(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t begin = type.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  const std::size_t end = type.find_last_not_of(kBlanks) + 1;
  return WithNamesInLowerCase(type.substr(begin, end - begin));
}

}  // namespace foretell::serve
