#include "src/surrogate/formula_names.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace foretell::surrogate {
namespace {

/// Keywords, and awk's functions and variables, which a script of it cannot
/// set. Sorted.
constexpr std::string_view kKept[] = {
    "BEGIN",   "END",      "ENVIRON", "FILENAME", "FNR",      "FS",
    "False",   "NF",       "NR",      "None",     "OFS",      "ORS",
    "RLENGTH", "RS",       "RSTART",  "SUBSEP",   "True",     "and",
    "as",      "assert",   "async",   "atan2",    "await",    "break",
    "case",    "catch",    "class",   "close",    "const",    "continue",
    "cos",     "debugger", "def",     "default",  "del",      "delete",
    "do",      "elif",     "else",    "enum",     "except",   "exit",
    "exp",     "export",   "extends", "false",    "fflush",   "finally",
    "for",     "from",     "func",    "function", "getline",  "global",
    "gsub",    "if",       "import",  "in",       "index",    "instanceof",
    "int",     "is",       "lambda",  "length",   "let",      "log",
    "match",   "new",      "next",    "nextfile", "nonlocal", "not",
    "null",    "or",       "pass",    "print",    "printf",   "raise",
    "rand",    "return",   "sin",     "split",    "sprintf",  "sqrt",
    "srand",   "static",   "sub",     "substr",   "super",    "switch",
    "system",  "this",     "throw",   "tolower",  "toupper",  "true",
    "try",     "typeof",   "var",     "void",     "while",    "with",
    "yield"};
static_assert(std::ranges::is_sorted(kKept));

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

bool IsOfAName(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || IsDigit(c) ||
         c == '_';
}

std::string VariableName(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !IsOfAName(c); }, '_');
  if (name.empty() || IsDigit(name.front())) name.insert(0, 1, '_');
  if (std::ranges::binary_search(kKept, name)) name += '_';
  return name;
}

}  // namespace

std::vector<std::string> FormulaNames(const std::vector<std::string>& columns) {
  // A name that needs no change is kept regardless of earlier names.
  std::set<std::string> taken;
  for (const std::string& column : columns) {
    if (VariableName(column) == column) taken.insert(column);
  }
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = VariableName(column);
    if (name != column) {
      while (!taken.insert(name).second) name += '_';
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace foretell::surrogate
