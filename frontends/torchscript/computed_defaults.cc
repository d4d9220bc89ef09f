// Finds what TorchScript's text has LibTorch compute while it loads.
//
// A literal is made of numbers, strings, names and brackets. What could run for
// long needs a call, an operator between two values, or `for`; the few calls
// that LibTorch writes around literals are known by name. Of the language only
// lines, brackets and strings must be understood: the line of a `def` holds
// defaults, and lines as far to the right as the first one below `class` hold
// attributes.

#include "frontends/torchscript/computed_defaults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "foretell/error.h"

namespace foretell::torchscript {
namespace {

constexpr std::array<std::string_view, 4> kCalls = {"annotate", "torch.device",
                                                    "float", "uninitialized"};

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         c == '.';
}

/// A word, a number, a string or another character.
struct Token {
  std::string_view text;
  bool begins_line = false;
  int indentation = 0;  ///< Of its line.
};

/// Takes a text apart. Lines end outside of brackets only.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// The next token; empty at the end.
  Token Next() {
    SkipSpace();
    const std::size_t begin = position_;
    if (begin == text_.size()) return {};
    const char first = text_[position_++];
    if (first == '"' || first == '\'') SkipString(first);
    if (IsWordCharacter(first)) SkipWord(IsDigit(first));
    if (first == '(' || first == '[' || first == '{') ++depth_;
    if (first == ')' || first == ']' || first == '}') --depth_;
    const bool begins_line = at_line_start_;
    at_line_start_ = false;
    return {text_.substr(begin, position_ - begin), begins_line, indentation_};
  }

  /// Brackets that are open.
  int depth() const { return depth_; }

 private:
  void SkipSpace() {
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

  void SkipString(char quote) {
    while (position_ < text_.size() && text_[position_] != quote) {
      position_ += text_[position_] == '\\' ? 2 : 1;
    }
    position_ = std::min(position_ + 1, text_.size());
  }

  /// Of numbers too: 1.5e-05.
  void SkipWord(bool is_number) {
    for (; position_ < text_.size(); ++position_) {
      const char before = text_[position_ - 1];
      const char c = text_[position_];
      const bool is_exponent = is_number && (c == '-' || c == '+') &&
                               (before == 'e' || before == 'E');
      if (!is_exponent && !IsWordCharacter(c)) return;
    }
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  int indentation_ = 0;
  bool at_line_start_ = true;
};

bool EndsValue(std::string_view token) {
  if (token.empty()) return false;
  const char last = token.back();
  return IsWordCharacter(last) ||
         std::string_view(")]}\"'").find(last) != std::string_view::npos;
}

/// List in List[int].
bool IsType(std::string_view token) {
  return std::isupper(static_cast<unsigned char>(token.front())) != 0;
}

/// True when `token` behind `previous` makes more than a literal.
bool Computes(std::string_view previous, std::string_view token) {
  if (token == "for" || token == "if" || token == "lambda") return true;
  if (token == "(" || token == "[") {
    const bool is_known =
        std::find(kCalls.begin(), kCalls.end(), previous) != kCalls.end();
    const bool is_type =
        token == "[" && EndsValue(previous) && IsType(previous);
    return !is_known && !is_type && EndsValue(previous);
  }
  if (token == "-") return EndsValue(previous);
  return std::string_view("+*/%@&|^~<>!").find(token.front()) !=
         std::string_view::npos;
}

/// True for what Tokens and LibTorch's lexer might read differently.
bool IsForeign(std::string_view previous, std::string_view token) {
  const bool is_quote = token.front() == '"' || token.front() == '\'';
  return token == "#" || token == "\\" || token == "`" || token == "$" ||
         std::isspace(static_cast<unsigned char>(token.front())) != 0 ||
         std::iscntrl(static_cast<unsigned char>(token.front())) != 0 ||
         // Three quotes.
         (is_quote && previous.size() == 2 &&
          previous.front() == token.front());
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : tokens_(text) {}

  /// What is wrong with the text; empty if nothing is.
  std::string Find() {
    std::string_view previous;
    for (Token token = tokens_.Next(); !token.text.empty();
         token = tokens_.Next()) {
      if (IsForeign(previous, token.text)) return "has unusual characters";
      if (token.begins_line) BeginLine(token);
      if (holds_defaults_ && previous == "def") subject_ = token.text;
      if (in_value_ && Computes(previous, token.text)) {
        return "the default or constant '" + std::string(subject_) +
               "' is more than a literal";
      }
      FollowValue(token.text);
      previous = token.text;
    }
    return "";
  }

 private:
  void BeginLine(const Token& token) {
    if (token.indentation < class_indentation_) class_indentation_ = kNoClass;
    if (below_class_) class_indentation_ = token.indentation;
    below_class_ = token.text == "class";
    holds_defaults_ = token.text == "def";
    holds_attribute_ =
        !holds_defaults_ && token.indentation == class_indentation_;
    in_value_ = false;
    subject_ = token.text;
  }

  void FollowValue(std::string_view token) {
    const int depth = tokens_.depth();
    if (holds_attribute_ && depth == 0 && token == "=") in_value_ = true;
    if (!holds_defaults_ || depth > 1) return;
    if (token == "=") in_value_ = true;
    if (token == ",") in_value_ = false;
    if (token == ")") in_value_ = holds_defaults_ = false;
  }

  static constexpr int kNoClass = -1;

  Tokens tokens_;
  int class_indentation_ = kNoClass;
  bool below_class_ = false;      ///< The line before began a class.
  bool holds_defaults_ = false;   ///< The line is that of a method.
  bool holds_attribute_ = false;  ///< The line is one of a class.
  bool in_value_ = false;
  std::string_view subject_;
};

}  // namespace

void RefuseComputedDefaults(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  for (const auto& [record, text] : code) {
    const std::string complaint = Scanner(text).Find();
    if (complaint.empty()) continue;
    throw Error(ErrorCode::kUnsupported,
                path + ": " + record + ": " + complaint);
  }
}

}  // namespace foretell::torchscript
