#include "frontends/torchscript/tokens.h"

#include <algorithm>
#include <cctype>

namespace foretell::torchscript {
namespace {

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool IsQuote(char c) { return c == '"' || c == '\''; }

}  // namespace

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         c == '.';
}

Token Tokens::Next() {
  SkipSpace();
  const std::size_t begin = position_;
  if (begin == text_.size()) return {};
  const char first = text_[position_++];
  if (IsQuote(first)) SkipString(first);
  if (IsWordCharacter(first)) SkipWord(IsDigit(first));
  if (first == '(' || first == '[' || first == '{') ++depth_;
  if (first == ')' || first == ']' || first == '}') --depth_;
  const bool begins_line = at_line_start_;
  at_line_start_ = false;
  const std::string_view token = text_.substr(begin, position_ - begin);
  is_foreign_ = LooksForeign(token);
  previous_ = token;
  return {token, begins_line, indentation_};
}

bool Tokens::LooksForeign(std::string_view token) const {
  const char first = token.front();
  if (IsQuote(first)) {
    return previous_.size() == 2 && previous_.front() == first &&
           previous_.data() + 2 == token.data();
  }
  if (IsWordCharacter(first)) {
    const bool is_name = !IsDigit(first);
    const bool follows_space =
        !previous_.empty() &&
        previous_.data() + previous_.size() < token.data();
    return is_name && (token.back() == '.' ||
                       (first == '.' && (previous_.empty() || follows_space)));
  }
  return first == '#' || std::ispunct(static_cast<unsigned char>(first)) == 0 ||
         first == '\\' || first == '`' || first == '$' || first == '?';
}

void Tokens::SkipSpace() {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n' && depth_ <= 0) {
      at_line_start_ = true;
      indentation_ = 0;
    } else if (c == ' ') {
      if (at_line_start_) ++indentation_;
    } else if (c != '\n') {
      return;
    }
  }
}

void Tokens::SkipString(char quote) {
  while (position_ < text_.size() && text_[position_] != quote) {
    position_ += text_[position_] == '\\' ? 2 : 1;
  }
  position_ = std::min(position_ + 1, text_.size());
}

/// Also skips numbers: 1.5e-05.
void Tokens::SkipWord(bool is_number) {
  for (; position_ < text_.size(); ++position_) {
    const char before = text_[position_ - 1];
    const char c = text_[position_];
    const bool is_exponent =
        is_number && (c == '-' || c == '+') && (before == 'e' || before == 'E');
    if (!is_exponent && !IsWordCharacter(c)) return;
  }
}

}  // namespace foretell::torchscript
