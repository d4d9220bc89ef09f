#include "src/graph/text_cursor.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

constexpr std::size_t kShownCharacters = 20;
constexpr std::size_t kWatchedBytes = std::size_t{64} << 10;

bool IsNumberCharacter(char c) {
  return IsWordCharacter(c) || c == '.' || c == '+' || c == '-';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

TextCursor::TextCursor(std::string_view text, std::string_view origin,
                       const std::function<void()>& watch)
    : text_(text), origin_(origin), watch_(watch) {}

void TextCursor::Watch() {
  watched_ = position_ + kWatchedBytes;
  if (watch_) watch_();
}

void TextCursor::SkipBlanks() {
  if (position_ >= watched_) Watch();
  while (!AtEnd()) {
    const char c = text_[position_];
    if (c == '#') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' ||
               (c == '\n' && open_brackets_ > 0)) {
      ++position_;
    } else {
      break;
    }
  }
  mark_ = position_;
}

bool TextCursor::NextLine() {
  while (Peek() == '\n') ++position_;
  return !AtEnd();
}

bool TextCursor::AtLineEnd() {
  SkipBlanks();
  return AtEnd() || text_[position_] == '\n';
}

void TextCursor::EndLine() {
  if (!AtLineEnd()) Expected("the end of the line");
}

char TextCursor::Peek() {
  SkipBlanks();
  return AtEnd() ? '\0' : text_[position_];
}

template <bool (*kBelongs)(char)>
std::string_view TextCursor::Take() {
  const std::size_t begin = position_;
  while (!AtEnd() && kBelongs(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view TextCursor::PeekWord() {
  SkipBlanks();
  const std::string_view word = Take<&IsWordCharacter>();
  position_ = mark_;
  return word;
}

bool TextCursor::WordIsFollowedBy(char c) {
  const std::size_t end = position_ + PeekWord().size();
  return end < text_.size() && text_[end] == c;
}

bool TextCursor::Accept(std::string_view expected) {
  SkipBlanks();
  if (!text_.substr(position_).starts_with(expected)) return false;
  position_ += expected.size();
  return true;
}

bool TextCursor::AcceptWord(std::string_view expected) {
  return PeekWord() == expected && Accept(expected);
}

void TextCursor::Expect(std::string_view expected) {
  if (!Accept(expected)) Expected(fmt::format("'{}'", expected));
}

void TextCursor::Open(char bracket) {
  Expect(std::string_view(&bracket, 1));
  ++open_brackets_;
}

void TextCursor::Close(char bracket) {
  Expect(std::string_view(&bracket, 1));
  --open_brackets_;
}

std::string TextCursor::Word(std::string_view what) {
  const std::string_view word = PeekWord();
  if (word.empty()) Expected(what);
  position_ += word.size();
  return std::string(word);
}

char TextCursor::Unescape() {
  constexpr std::string_view kLetters = "ntr\"\\";
  constexpr std::string_view kMeanings = "\n\t\r\"\\";
  if (AtEnd()) Fail("the text ends inside a string");
  const char c = text_[position_++];
  const std::size_t simple = kLetters.find(c);
  if (simple != std::string_view::npos) return kMeanings[simple];
  if (c == 'x' && position_ + 2 <= text_.size()) {
    const int high = HexDigit(text_[position_]);
    const int low = HexDigit(text_[position_ + 1]);
    position_ += 2;
    if (high >= 0 && low >= 0) return static_cast<char>(high * 16 + low);
  }
  Fail("a string has an unknown escape, expected \\n \\t \\r \\\" \\\\ \\xNN");
}

std::string TextCursor::String() {
  Expect("\"");
  std::string text;
  while (!AtEnd() && text_[position_] != '\n') {
    const char c = text_[position_++];
    if (c == '"') return text;
    text += c == '\\' ? Unescape() : c;
  }
  Fail("a string is not closed on its line");
}

std::string_view TextCursor::Name() {
  Expect("%");
  const std::size_t begin = position_ - 1;
  const bool quoted = !AtEnd() && text_[position_] == '"';
  if (quoted) quoted_name_ = String();
  const std::string_view name =
      quoted ? std::string_view(quoted_name_) : Take<&IsNameCharacter>();
  mark_ = begin;
  if (name.empty()) Fail("a tensor has no name after '%'");
  return name;
}

std::int64_t TextCursor::Int(std::string_view what) {
  SkipBlanks();
  std::string_view rest = text_.substr(position_);
  const auto number = TakeNumber<std::int64_t>(rest);
  if (!number) Expected(what);
  position_ = text_.size() - rest.size();
  return *number;
}

std::string_view TextCursor::NumberText() {
  SkipBlanks();
  return Take<&IsNumberCharacter>();
}

void TextCursor::Fail(const std::string& message) const {
  const std::string_view before = text_.substr(0, mark_);
  const std::size_t line =
      1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t line_start = before.rfind('\n') + 1;
  throw Corrupt("{}:{}:{}: {}", origin_, line, mark_ - line_start + 1, message);
}

void TextCursor::Expected(std::string_view what) {
  SkipBlanks();
  const std::string_view rest = text_.substr(position_, kShownCharacters);
  const std::string_view shown = rest.substr(0, rest.find('\n'));
  const std::string found =
      AtEnd() ? "the end of the text"
              : (shown.empty() ? "the end of the line" : Quoted(shown));
  Fail(fmt::format("expected {}, found {}", what, found));
}

}  // namespace foretell
