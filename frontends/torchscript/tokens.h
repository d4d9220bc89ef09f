#pragma once

#include <cstddef>
#include <string_view>

namespace foretell::torchscript {

/// True for characters of names and numbers, including the dots between
/// names.
bool IsWordCharacter(char c);

/// A word (a.b is one), a number, a string with its quotes, or another
/// character.
struct Token {
  std::string_view text;
  bool begins_line = false;
  int indentation = 0;  ///< Depth of its line.
};

/// Splits TorchScript's text as LibTorch's lexer does, as long as it has no
/// tokens for which IsForeign is true.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// The next token; empty at the end. Lines end outside of brackets only.
  Token Next();
  /// Brackets that are open.
  int depth() const { return depth_; }
  /// True when the last token might mean something else to LibTorch's lexer, or
  /// is spelt as LibTorch never does: comments, escapes outside of strings,
  /// three quotes, space around dots.
  bool IsForeign() const { return is_foreign_; }

 private:
  void SkipSpace();
  void SkipString(char quote);
  void SkipWord(bool is_number);
  bool LooksForeign(std::string_view token) const;

  std::string_view text_;
  std::string_view previous_;
  std::size_t position_ = 0;
  int depth_ = 0;
  int indentation_ = 0;
  bool at_line_start_ = true;
  bool is_foreign_ = false;
};

}  // namespace foretell::torchscript
