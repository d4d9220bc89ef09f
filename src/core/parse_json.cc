// Built from the parser's events and not by its own builders: the one without a
// callback keeps the last of two fields of one name and knows no limits, the
// one with a callback looks through a container again after every member that
// is one (nlohmann 3.12, json_sax_dom_callback_parser::end_object): 300,000
// members took more than half a minute.

#include "src/core/parse_json.h"

#include <fmt/core.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "foretell/error.h"

namespace foretell {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kMaxShown = 60;

/// Builds a document from the parser's events.
class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit DocumentBuilder(std::string_view origin) : origin_(origin) {}

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
    auto& fields = open_.back()->get_ref<json::object_t&>();
    const auto [field, is_new] = fields.try_emplace(name);
    if (!is_new) Fail("field " + ShowJson(name) + " is given twice");
    field_ = &field->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const json::exception& error) override {
    Fail(error.what());
  }

 private:
  [[noreturn]] void Fail(const std::string& problem) const {
    throw Error(ErrorCode::kCorrupt, fmt::format("{}: {}", origin_, problem));
  }

  bool Add(json value) {
    Place(std::move(value));
    return true;
  }

  /// Puts `value` where the next one belongs. What is returned stays there
  /// while it is open: nothing is added beside it.
  json* Place(json value) {
    if (++values_ > kMaxValues) {
      Fail(fmt::format("more than {} values", kMaxValues));
    }
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
    if (open_.size() == kMaxDepth) {
      Fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    open_.push_back(Place(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::string_view origin_;
  json root_;
  std::vector<json*> open_;  ///< Containers, the outermost first.
  json* field_ = nullptr;    ///< Where the value of the last name belongs.
  std::size_t values_ = 0;
};

}  // namespace

json ParseJson(std::string_view text, std::string_view origin) {
  DocumentBuilder builder(origin);
  json::sax_parse(text, &builder);
  return builder.Take();
}

std::string ShowJson(const json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace foretell
