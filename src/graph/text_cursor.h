#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace foretell {

/// Reads the lexical elements of the text form from left to right.
///
/// Blanks and comments ("#" to the end of the line) separate elements; line
/// ends too, while a bracket that was opened by `Open` is not closed.
/// Every method that reads throws Error(kCorrupt) with
/// `origin:line:column: expected …, found …`.
class TextCursor {
 public:
  /// `watch`, if given, is called every 64 KiB of text.
  TextCursor(std::string_view text, std::string_view origin,
             const std::function<void()>& watch = {});

  /// Skips empty lines; false at the end of the text.
  bool NextLine();
  /// Requires that nothing follows on this line.
  void EndLine();
  bool AtLineEnd();

  /// The next character after blanks; '\0' at the end of the text.
  char Peek();
  /// The word at the cursor, which stays; empty if there is none.
  std::string_view PeekWord();
  /// True if the word at the cursor is followed by `c`.
  bool WordIsFollowedBy(char c);

  /// Consumes `expected` if it comes next.
  bool Accept(std::string_view expected);
  /// Consumes the word `expected` if it comes next.
  bool AcceptWord(std::string_view expected);
  void Expect(std::string_view expected);
  void Open(char bracket);
  void Close(char bracket);

  /// Letters, digits, "_" and ":".
  std::string Word(std::string_view what);
  /// Text between double quotes.
  std::string String();
  /// `%name` or `%"any name"`, without the "%"; until the next one.
  std::string_view Name();
  std::int64_t Int(std::string_view what);
  /// A number as written: digits, sign, dot, exponent, "inf", "nan".
  std::string_view NumberText();

  /// Throws Error(kCorrupt) with the position at which the last element began.
  [[noreturn]] void Fail(const std::string& message) const;
  /// Throws "expected `what`, found …" at the cursor.
  [[noreturn]] void Expected(std::string_view what);

 private:
  void SkipBlanks();
  void Watch();
  template <bool (*kBelongs)(char)>
  std::string_view Take();
  char Unescape();
  bool AtEnd() const { return position_ >= text_.size(); }

  std::string_view text_;
  std::string origin_;
  std::function<void()> watch_;
  std::size_t watched_ = 0;  ///< Where `watch_` is called next.
  std::size_t position_ = 0;
  std::size_t mark_ = 0;  ///< Where the last element began.
  int open_brackets_ = 0;
  std::string quoted_name_;
};

}  // namespace foretell
