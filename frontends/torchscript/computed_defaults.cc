// Finds what TorchScript's text makes LibTorch compute while it loads.
//
// A literal consists of numbers, strings, names and brackets. Code that could
// run for long needs a call, an operator between two values, or `for`; the few
// calls that LibTorch writes around literals are known by name. Only lines,
// brackets and strings of the language must be understood: the line of a `def`
// holds defaults, and lines with the indentation of the first one below `class`
// hold attributes.
#include "frontends/torchscript/computed_defaults.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "frontends/torchscript/tokens.h"
#include "src/core/failure.h"

namespace foretell::torchscript {
namespace {

constexpr std::array<std::string_view, 4> kCalls = {"annotate", "torch.device",
                                                    "float", "uninitialized"};

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

/// True when `token` after `previous` makes more than a literal.
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

class Scanner {
 public:
  explicit Scanner(std::string_view text) : tokens_(text) {}

  /// What is wrong with the text; empty if nothing is wrong.
  std::string Find() {
    std::string_view previous;
    for (Token token = tokens_.Next(); !token.text.empty();
         token = tokens_.Next()) {
      if (tokens_.IsForeign()) {
        return fmt::format("has '{}', which LibTorch does not write",
                           token.text.substr(0, 20));
      }
      if (token.begins_line) BeginLine(token);
      if (holds_defaults_ && previous == "def") subject_ = token.text;
      if (in_value_ && Computes(previous, token.text)) {
        return fmt::format(
            "the default or constant '{}' is more than a literal", subject_);
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
  bool below_class_ = false;      ///< The previous line began a class.
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
    throw Unsupported("{}: {}: {}", path, record, complaint);
  }
}

}  // namespace foretell::torchscript
