// Built from the parser's events and not by its own builders: the one without a
// callback keeps the last of two fields of one name and knows no limits, the
// one with a callback looks through a container again after every member that
// is one (nlohmann 3.12, json_sax_dom_callback_parser::end_object): 300,000
// members took more than half a minute.
#include "src/core/parse_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "src/core/failure.h"

namespace foretell {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxShown = 60;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("+-._").find(c) != std::string_view::npos;
}

/// Behind the string that begins at `start`, or the end of the text.
std::size_t StringEnd(std::string_view text, std::size_t start) {
  std::size_t end = start + 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// Where the string begins that ends before `end`; which quotes are escaped
/// shows only from the front.
std::size_t StringStart(std::string_view text, std::size_t end) {
  std::size_t start = text.find('"');
  while (StringEnd(text, start) < end) {
    start = text.find('"', StringEnd(text, start));
  }
  return start;
}

/// Where the string, the word, the number or the sign begins that ends before
/// `end`, which is above 0.
std::size_t TokenStart(std::string_view text, std::size_t end) {
  std::size_t start = end - 1;
  if (text[start] == '"') return StringStart(text.substr(0, end), end);
  if (!IsWordCharacter(text[start])) return start;
  while (start > 0 && IsWordCharacter(text[start - 1])) --start;
  return start;
}

/// What begins there, as a message shows it.
std::string TokenAt(std::string_view text, std::size_t start) {
  constexpr std::size_t kMostShownOfToken = 20;
  if (start >= text.size()) return "the end of the text";
  std::size_t end = start + 1;
  if (text[start] == '"') {
    end = StringEnd(text, start);
  } else if (IsWordCharacter(text[start])) {
    while (end < text.size() && IsWordCharacter(text[end])) ++end;
  }
  return fmt::format(
      "'{}'", text.substr(start, std::min(end - start, kMostShownOfToken)));
}

/// Where a document is that ends after some of its text, all of which was good.
struct Syntax {
  std::string open;       ///< '{' and '[' that are not closed.
  char last = '\0';       ///< Sign that was read last; '"' for a string.
  bool has_name = false;  ///< The last string names a field.
};

Syntax SyntaxAfter(std::string_view text) {
  Syntax syntax;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (std::string_view(" \t\r\n").find(c) != std::string_view::npos) continue;
    if (c == '"') {
      in_string = true;
      const bool in_object = syntax.open.ends_with('{');
      syntax.has_name = in_object && (syntax.last == '{' || syntax.last == ',');
    }
    if (c == '{' || c == '[') syntax.open += c;
    if ((c == '}' || c == ']') && !syntax.open.empty()) syntax.open.pop_back();
    syntax.last = c;
  }
  return syntax;
}

std::string_view Expected(const Syntax& syntax) {
  const bool in_object = syntax.open.ends_with('{');
  switch (syntax.last) {
    case '{':
      return "a field's name in quotes or '}'";
    case '[':
      return "a value or ']'";
    case ',':
      return in_object ? "a field's name in quotes" : "a value";
    case '\0':
    case ':':
      return "a value";
    default:
      if (syntax.last == '"' && syntax.has_name) return "':'";
      if (syntax.open.empty()) return "the end of the text";
      return in_object ? "',' or '}'" : "',' or ']'";
  }
}

/// "line 2, column 7", both from 1, in characters.
std::string PlaceOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  const auto column =
      std::ranges::count_if(before.substr(line_start),
                            [](char c) {
                              return (static_cast<unsigned char>(c) & 0xC0) !=
                                     0x80;
                            }) +
      1;
  return fmt::format("line {}, column {}", line, column);
}

/// The parser's message on a string it cannot read: "missing closing quote";
/// empty if the problem is not a string.
std::string StringProblem(std::string_view cause) {
  constexpr std::string_view kBegin = "invalid string: ";
  const std::size_t begin = cause.find(kBegin);
  if (begin == std::string_view::npos) return "";
  cause.remove_prefix(begin + kBegin.size());
  return std::string(cause.substr(0, cause.find("; last read")));
}

/// Builds a document from the parser's events.
class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  DocumentBuilder(std::string_view text, std::string_view origin,
                  const JsonLimits& limits)
      : text_(text), origin_(origin), limits_(limits) {}

  json Take() { return std::move(root_); }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(value);
  }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // Not in JSON text.
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    if (is_dropped_ ||
        std::ranges::find(limits_.dropped, name) != limits_.dropped.end()) {
      is_dropped_ = true;
      return true;
    }
    auto& fields = open_.back()->get_ref<json::object_t&>();
    const auto [field, is_new] = fields.try_emplace(name);
    if (!is_new) Fail("field " + ShowJson(name) + " is given twice");
    field_ = &field->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    Fail(JsonProblem(text_, position, error.what()));
  }

  /// The text is no JSON from the byte before `position` on.
  [[noreturn]] void Refuse(std::size_t position) const {
    Fail(JsonProblem(text_, position, ""));
  }

 private:
  [[noreturn]] void Fail(const std::string& problem) const {
    throw Corrupt("{}: {}", origin_, problem);
  }

  bool Add(json value) {
    Place(std::move(value));
    if (dropped_levels_ == 0) is_dropped_ = false;
    return true;
  }

  /// Puts `value` where the next one belongs. What is returned stays there
  /// while it is open: nothing is added next to it. Null for one that is
  /// dropped.
  json* Place(json value) {
    if (++values_ > limits_.values) {
      Fail(fmt::format("more than {} values", limits_.values));
    }
    if (is_dropped_) return nullptr;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    *field_ = std::move(value);
    return field_;
  }

  bool Open(json container) {
    if (open_.size() + dropped_levels_ == limits_.levels) {
      Fail(fmt::format("nested deeper than {} levels", limits_.levels));
    }
    json* const place = Place(std::move(container));
    if (is_dropped_) {
      ++dropped_levels_;
    } else {
      open_.push_back(place);
    }
    return true;
  }

  bool Close() {
    if (!is_dropped_) {
      open_.pop_back();
    } else if (--dropped_levels_ == 0) {
      is_dropped_ = false;
    }
    return true;
  }

  std::string_view text_;
  std::string_view origin_;
  const JsonLimits& limits_;
  json root_;
  std::vector<json*> open_;  ///< Containers, the outermost first.
  json* field_ = nullptr;    ///< Where the value of the last name belongs.
  bool is_dropped_ = false;  ///< Within a field of `dropped`.
  std::size_t dropped_levels_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

std::string JsonProblem(std::string_view text, std::size_t position,
                        std::string_view cause) {
  const std::size_t end = std::min(position, text.size());
  const std::string string_problem = StringProblem(cause);
  if (!string_problem.empty()) {
    return fmt::format("{}: a string that is not valid: {}",
                       PlaceOf(text, end == 0 ? 0 : end - 1), string_problem);
  }
  const bool is_end = end == 0 || Contains(cause, "unexpected end of input");
  // The parser has read one more than a number that ends too early.
  const bool is_cut = end > 1 && Contains(cause, "invalid number");
  const std::size_t start =
      is_end ? text.size() : TokenStart(text, is_cut ? end - 1 : end);
  const std::string found =
      fmt::format("{}: found {}", PlaceOf(text, start), TokenAt(text, start));
  if (Contains(cause, "number overflow")) {
    return found + ", expected a number that fits 64 bits";
  }
  return fmt::format("{}, expected {}", found,
                     Expected(SyntaxAfter(text.substr(0, start))));
}

json ParseJson(std::string_view text, std::string_view origin,
               const JsonLimits& limits) {
  DocumentBuilder builder(text, origin, limits);
  json::sax_parse(text, &builder);
  // The parser treats it as the end, whatever follows.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) builder.Refuse(zero + 1);
  return builder.Take();
}

std::string ShowJson(const json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace foretell
