#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "foretell/error.h"
#include "src/core/text.h"
#include "src/recipes/documents.h"
#include "src/recipes/formats.h"
#include "src/recipes/key_value.h"
#include "src/recipes/recipe.h"
#include "src/recipes/recipe_flags.h"
#include "src/recipes/settings.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

/// In the order in which they are tried.
constexpr const Format* kFormats[] = {
    &kDeepSpeedFormat,      &kAccelerateFormat,
    &kPeftFormat,           &kTorchtuneFormat,
    &kUnslothFormat,        &kTorchtitanFormat,
    &kLitgptFormat,         &kAutotrainFormat,
    &kLlmStudioFormat,      &kAxolotlFormat,
    &kLlamaFactoryV1Format, &kLlamaFactoryFormat,
    &kOpenInstructFormat,   &kTrlFormat,
    &kTransformersFormat};

/// Values of kLeftOut keys that change nothing.
constexpr std::string_view kNeutral[] = {
    "false", "null", "0", "0.0", "\"\"", "[]", "{}", "\"none\"", "\"no\""};

/// The value at the path `key`; null if it has none, is null or empty text. A
/// value "${a.b}", as OmegaConf writes it, is that at the path a.b.
const json* Find(const json& document, std::string_view key, int hops = 0) {
  constexpr int kMostHops = 8;
  const json* value = &document;
  std::string_view rest = key;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (!value->is_object()) return nullptr;
    const auto field = value->find(std::string(name));
    if (field == value->end()) return nullptr;
    value = &*field;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  if (value->is_null() || *value == "") return nullptr;
  const bool is_link = value->is_string() &&
                       Matches("${*}", value->get_ref<const std::string&>());
  if (!is_link) return value;
  const std::string_view link = value->get_ref<const std::string&>();
  if (hops == kMostHops) return nullptr;
  return Find(document, link.substr(2, link.size() - 3), hops + 1);
}

/// Whether `document` has the path `key`, even if its value is null.
bool HasKey(const json& document, std::string_view key) {
  std::string pointer = "/" + std::string(key);
  std::ranges::replace(pointer, '.', '/');
  return document.contains(json::json_pointer(pointer));
}

const Format* FormatOf(const json& document) {
  for (const Format* format : kFormats) {
    for (const std::string_view mark : WordsIn(format->marks)) {
      if (Find(document, mark) != nullptr) return format;
    }
  }
  return nullptr;
}

bool Lists(std::string_view list, const std::string& path) {
  return std::ranges::any_of(WordsIn(list), [&](std::string_view word) {
    word = word.substr(0, word.find('='));
    return Matches(word, path) ||
           (path.starts_with(word) && path[word.size()] == '.');
  });
}

/// Whether `value` is what the word of `list` for `path` has after '='.
bool IsListedValue(std::string_view list, const std::string& path,
                   const json& value) {
  return std::ranges::any_of(WordsIn(list), [&](std::string_view word) {
    const std::size_t equals = word.find('=');
    return equals != std::string_view::npos && word.substr(0, equals) == path &&
           word.substr(equals + 1) == ShowValue(value);
  });
}

class RecipeReader {
 public:
  void ReadFile(const std::string& path) {
    const json document = ReadDocument(path);
    const Format* format = FormatOf(document);
    if (format == nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: has no key that tells its tool; read are {}",
                              path, Joined(Tools())));
    }
    Read(*format, document, path, "");
  }

  Recipe Finish(std::optional<int> gpus) {
    Recipe recipe = RecipeOf(settings_, gpus);
    recipe.tools = Joined(tools_);
    left_out_.insert(left_out_.end(), recipe.left_out.begin(),
                     recipe.left_out.end());
    recipe.left_out = std::move(left_out_);
    return recipe;
  }

 private:
  static std::vector<std::string> Tools() {
    std::vector<std::string> tools;
    for (const Format* format : kFormats) tools.emplace_back(format->tool);
    return tools;
  }

  /// `prefix`: path of `document` in `file`, empty or with a point.
  void Read(const Format& format, const json& document, const std::string& file,
            const std::string& prefix) {
    const std::string tool(format.tool);
    if (std::ranges::find(tools_, tool) == tools_.end()) tools_.push_back(tool);
    std::set<std::string_view> known;
    for (const Format* one = &format; one != nullptr; one = one->base) {
      std::set<std::string_view> own;
      for (const KeyRow& row : one->keys) {
        if (known.count(row.key) > 0) continue;
        if (!row.key.empty()) own.insert(row.key);
        ReadKey(format, row, document, file, prefix);
      }
      known.merge(own);
    }
    ListOthers(format, known, document, "", prefix);
  }

  void ReadKey(const Format& format, const KeyRow& row, const json& document,
               const std::string& file, const std::string& prefix) {
    const std::string key = prefix + std::string(row.key);
    const json value = ValueOf(row, document);
    if (value.is_null()) {
      // Null is no limit or no quantization, whatever the default is.
      const bool has_null =
          row.setting == Setting::kLength || row.setting == Setting::kBits;
      if (has_null && HasKey(document, row.key)) return;
      if (row.absent == "?") {
        left_out_.push_back(key + " (default)");
      } else if (!row.absent.empty()) {
        settings_.Set(row.setting, std::string(row.absent), Rank::kDefault,
                      file, row.key);
      }
      return;
    }
    if (row.kind == Kind::kDeepSpeed) return ReadDeepSpeed(value, file, key);
    const KeyValue said =
        ConvertValue(row, value, fmt::format("{}: {}", file, key));
    if (said.is_left_out) {
      left_out_.push_back(fmt::format("{}={}", key, ShowValue(value)));
    }
    if (said.text.empty()) return;
    const bool yields = format.yields || row.setting == Setting::kModel;
    const bool is_implied =
        row.kind == Kind::kObject || row.kind == Kind::kImplied;
    const Rank rank = is_implied ? Rank::kDefault
                      : yields   ? Rank::kYielding
                                 : Rank::kStated;
    settings_.Set(row.setting, said.text, rank, file, key);
  }

  /// Null if it is missing.
  static json ValueOf(const KeyRow& row, const json& document) {
    if (row.key.empty()) return nullptr;
    const std::size_t plus = row.key.find('+');
    const json* first = Find(document, row.key.substr(0, plus));
    if (first == nullptr) return nullptr;
    if (plus == std::string_view::npos) return *first;
    const json* second = Find(document, row.key.substr(plus + 1));
    if (second == nullptr) return nullptr;
    return ShowValue(*first) + "/" + ShowValue(*second);
  }

  void ReadDeepSpeed(const json& value, const std::string& file,
                     const std::string& key) {
    if (value.is_object()) {
      return Read(kDeepSpeedFormat, value, file, key + ".");
    }
    if (!value.is_string()) {
      throw Error(ErrorCode::kCorrupt,
                  fmt::format("{}: {} is {}, expected an object or a path",
                              file, key, ShowValue(value)));
    }
    const std::filesystem::path path = value.get<std::string>();
    const std::filesystem::path beside =
        std::filesystem::path(file).parent_path() / path;
    for (const std::filesystem::path& one : {path, beside}) {
      std::error_code ignored;
      if (!std::filesystem::exists(one, ignored)) continue;
      return Read(kDeepSpeedFormat, ReadDocument(one), one, "");
    }
    left_out_.push_back(
        fmt::format("{}={} (no such file)", key, ShowValue(value)));
  }

  /// Notes keys below `path` that no row reads and that matter, or may.
  void ListOthers(const Format& format, const std::set<std::string_view>& known,
                  const json& value, const std::string& path,
                  const std::string& prefix) {
    for (const auto& item : value.items()) {
      const std::string key =
          path.empty() ? item.key() : path + "." + item.key();
      if (!IsReadOrIgnored(format, known, key, item.value(), prefix) &&
          item.value().is_object()) {
        ListOthers(format, known, item.value(), key, prefix);
      }
    }
  }

  /// Whether nothing inside the value needs a note of its own.
  bool IsReadOrIgnored(const Format& format,
                       const std::set<std::string_view>& known,
                       const std::string& key, const json& value,
                       const std::string& prefix) {
    if (known.count(key) > 0) return !value.is_object();
    for (const std::string_view row : known) {
      const std::size_t plus = row.find('+');
      if (plus == std::string_view::npos) continue;
      if (row.substr(0, plus) == key || row.substr(plus + 1) == key)
        return true;
    }
    for (const Format* one = &format; one != nullptr; one = one->base) {
      if (Lists(one->left_out, key)) {
        const bool is_neutral =
            std::ranges::find(
                kNeutral,
                value.dump(-1, ' ', true, json::error_handler_t::replace)) !=
                std::end(kNeutral) ||
            IsListedValue(one->left_out, key, value);
        if (!is_neutral) {
          left_out_.push_back(
              fmt::format("{}{}={}", prefix, key, ShowValue(value)));
        }
        return true;
      }
    }
    if (value.is_null()) return true;
    for (const Format* one = &format; one != nullptr; one = one->base) {
      if (!Lists(one->ignored, key)) continue;
      return !value.is_object();
    }
    if (value.is_object()) return value.empty();
    left_out_.push_back(fmt::format("{}{} (unknown)", prefix, key));
    return true;
  }

  std::vector<std::string> tools_;
  std::vector<std::string> left_out_;
  Settings settings_;
};

}  // namespace

Recipe ReadRecipe(std::span<const std::string> paths, std::optional<int> gpus) {
  RecipeReader reader;
  for (const std::string& path : paths) reader.ReadFile(path);
  return reader.Finish(gpus);
}

}  // namespace foretell::recipes
