#include "datasets/zoo/hub_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ranges>
#include <system_error>

#include "datasets/zoo/families.h"
#include "datasets/zoo/hub_quantized.h"
#include "datasets/zoo/hub_towers.h"
#include "datasets/zoo/hub_types.h"
#include "datasets/zoo/llama_config.h"
#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/parse_json.h"
#include "src/core/parse_number.h"
#include "src/core/printable.h"
#include "src/core/text.h"

namespace foretell::zoo {
namespace {

namespace fs = std::filesystem;

using HubJson = nlohmann::json;

/// Those of a classifier of 21,843 classes have two megabytes.
constexpr std::int64_t kMostHubBytes = 16 << 20;
/// Eight times the layers of the deepest published network; each costs time.
constexpr std::int64_t kMostHubLayers = 1000;
constexpr std::size_t kLongestHubText = 64;
constexpr std::string_view kLabelsKey = "id2label";

const Family& HubFamily(std::string_view name) {
  return *std::ranges::find(Families(), name, &Family::name);
}

/// `text` up to the first `mark`.
std::string_view HubTextBefore(std::string_view text, char mark) {
  return {text.begin(), std::ranges::find(text, mark)};
}

/// The value of `key`, which may have alternatives; null if there is none.
const HubJson* FindHubValue(const HubJson& config, std::string_view key) {
  while (!key.empty()) {
    const std::string_view one = HubTextBefore(key, '|');
    const std::string_view name = HubTextBefore(one, '.');
    const auto found = config.find(std::string(name));
    if (found != config.end()) {
      if (name.size() == one.size()) return &*found;
      const HubJson* inner =
          found->is_object() ? FindHubValue(*found, one.substr(name.size() + 1))
                             : nullptr;
      if (inner != nullptr) return inner;
    }
    key.remove_prefix(std::min(one.size() + 1, key.size()));
  }
  return nullptr;
}

/// Whether JSON's `value` has the type of a field.
bool IsOfFieldType(const HubJson& value, const FieldValue& field) {
  if (std::holds_alternative<bool>(field)) return value.is_boolean();
  if (std::holds_alternative<std::string>(field)) return value.is_string();
  return value.is_number();
}

class HubReader {
 public:
  HubReader(const HubJson& config, const HubType& type, std::string origin)
      : config_(config), type_(type), origin_(std::move(origin)) {
    network_.family = &HubFamily(type.family);
    network_.configuration = network_.family->configure();
    fields_ = network_.configuration->Fields();
  }

  HubNetwork Read() {
    CheckClass();
    for (const HubKey& key : type_.common) {
      if (!IsIn(type_.own, key.key)) Apply(key);
    }
    for (const HubKey& key : type_.own) Apply(key);
    ShortenDefaultLength();
    ReadTypes();
    return std::move(network_);
  }

 private:
  static bool IsIn(std::span<const HubKey> keys, std::string_view key) {
    return std::ranges::find(keys, key, &HubKey::key) != keys.end();
  }

  [[noreturn]] void Fail(ErrorCode code, std::string_view key,
                         const std::string& problem) const {
    throw Error(code, fmt::format("{}: {} is {}", origin_, key, problem));
  }

  /// A value as text: of a table the number of its rows, of a list its values
  /// in sequence.
  std::string TextOfJson(std::string_view key, const HubJson& value) const {
    if (value.is_number_float()) return FormatValue(value.get<double>());
    if (value.is_number() || value.is_boolean()) return value.dump();
    if (value.is_object() && key == kLabelsKey) {
      return fmt::format("{}", value.size());
    }
    if (value.is_array() && !value.empty()) {
      std::vector<std::string> texts;
      for (const HubJson& one : value) {
        if (one.is_structured() || one.is_null()) {
          Fail(ErrorCode::kCorrupt, key, Shown(value));
        }
        texts.push_back(TextOfJson(key, one));
      }
      return Joined(texts, "|");
    }
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      if (text.size() <= kLongestHubText && Printable(text) == text) {
        return text;
      }
    }
    Fail(ErrorCode::kCorrupt, key, Shown(value));
  }

  static std::string Shown(const HubJson& value) {
    return ShowJson(value) + ", expected a number, a text, true or false";
  }

  /// `text`, or the value of the key that "=key" refers to.
  std::string Resolve(std::string_view text) const {
    return text.starts_with('=') ? ValueOf(text.substr(1)) : std::string(text);
  }

  std::string ValueOf(std::string_view key) const {
    for (const std::span<const HubKey> keys : {type_.own, type_.common}) {
      const auto found = std::ranges::find(keys, key, &HubKey::key);
      if (found != keys.end()) return ValueOf(*found);
    }
    return "";
  }

  /// The key's value or default, before its conversion.
  std::string ValueOf(const HubKey& key) const {
    const HubJson* value = FindHubValue(config_, key.key);
    if (value == nullptr) return Resolve(key.absent);
    if (!value->is_null()) return TextOfJson(key.key, *value);
    return Resolve(key.null.empty() ? key.absent : key.null);
  }

  const Field* FindField(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, &Field::name);
    return name.empty() || found == fields_.end() ? nullptr : &*found;
  }

  void Apply(const HubKey& key) {
    const std::string given = ValueOf(key);
    const std::string text =
        key.convert == nullptr
            ? given
            : key.convert(
                  given, [this](std::string_view one) { return ValueOf(one); });
    if (const Field* field = FindField(key.field)) {
      SetFromKey(key, *field, text);
    } else if (!key.only.empty() && text != Resolve(key.only)) {
      RefuseOrWarn(key, given);
    }
  }

  void SetFromKey(const HubKey& key, const Field& field,
                  const std::string& text) {
    const HubJson* value = FindHubValue(config_, key.key);
    if (value != nullptr && !value->is_null() && key.convert == nullptr &&
        key.key != kLabelsKey && !IsOfFieldType(*value, field.value)) {
      Fail(ErrorCode::kCorrupt, key.key,
           fmt::format("{}, expected a value like {}", ShowJson(*value),
                       FormatValue(field.value)));
    }
    try {
      network_.configuration->Set(key.field, text);
    } catch (const Error& error) {
      Fail(ErrorCode::kCorrupt, key.key,
           fmt::format("{}: {}", ValueOf(key), error.what()));
    }
    if (key.field != "depth") return;
    if (ParseNumber<std::int64_t>(text).value_or(0) <= kMostHubLayers) return;
    Fail(ErrorCode::kCorrupt, key.key,
         fmt::format("{}, expected at most {}", text, kMostHubLayers));
  }

  void RefuseOrWarn(const HubKey& key, const std::string& given) {
    const std::string_view name = key.key.empty() ? key.field : key.key;
    const std::string expected = key.convert == nullptr
                                     ? Resolve(key.only)
                                     : "one that follows from the other sizes";
    if (!key.is_minor) {
      Fail(ErrorCode::kUnsupported, name,
           fmt::format("{}, and the zoo's '{}' has {}", given, type_.family,
                       key.field.empty() ? expected + " only"
                                         : fmt::format("no {}", key.field)));
    }
    network_.warnings.push_back(fmt::format("{}: {} is {}, predicted as {}",
                                            origin_, name, given, expected));
  }

  void CheckClass() {
    const HubJson* given = FindHubValue(config_, "architectures");
    if (given == nullptr || given->is_null()) return;
    const std::string name = TextOfJson("architectures", *given);
    if (std::ranges::find(type_.classes, name) != type_.classes.end()) return;
    const std::string problem =
        fmt::format("{}, predicted as {}", name, type_.classes.front());
    if (type_.refuses_other_classes) {
      Fail(ErrorCode::kUnsupported, "architectures",
           fmt::format("{}, and the zoo's '{}' has {} only", name, type_.family,
                       type_.classes.front()));
    }
    network_.warnings.push_back(
        fmt::format("{}: architectures is {}", origin_, problem));
  }

  /// A network for short texts is not one to refuse until a length is chosen.
  void ShortenDefaultLength() {
    const std::vector<Field> fields = network_.configuration->Fields();
    const auto number = [&](std::string_view name) -> std::int64_t {
      const auto found = std::ranges::find(fields, name, &Field::name);
      return found == fields.end() ? 0 : std::get<std::int64_t>(found->value);
    };
    const std::int64_t positions = number("positions");
    if (positions > 0 && number("seq") > positions) {
      network_.configuration->Set("seq", fmt::format("{}", positions));
    }
  }

  void ReadTypes() {
    const HubJson* type = FindHubValue(config_, "dtype|torch_dtype");
    if (type != nullptr && type->is_string()) {
      const std::string name = TextOfJson("dtype", *type);
      if (name == "bfloat16") network_.dtype = DType::kBF16;
      if (name == "float16") network_.dtype = DType::kF16;
    }
    if (FindHubValue(config_, "auto_map") != nullptr) {
      network_.warnings.push_back(
          fmt::format("{}: auto_map is not read, the network is predicted as "
                      "transformers' own {}",
                      origin_, type_.classes.front()));
    }
    const HubJson* quantization = FindHubValue(config_, "quantization_config");
    if (quantization == nullptr || quantization->is_null()) return;
    network_.warnings.push_back(
        fmt::format("{}: {}", origin_, DescribeQuantization(*quantization)));
  }

  const HubJson& config_;
  const HubType& type_;
  std::string origin_;
  HubNetwork network_;
  std::vector<Field> fields_;  ///< Of the family, with its defaults.
};

/// The config.json that `path` names; empty if it names none.
std::string HubFileAt(const std::string& path) {
  constexpr std::string_view kName = "config.json";
  std::error_code ignored;
  const fs::path given(path);
  if (fs::is_directory(given, ignored)) {
    const bool is_other = fs::exists(given / "saved_model.pb", ignored);
    const bool is_there = fs::exists(given / kName, ignored);
    return is_there && !is_other ? (given / kName).string() : "";
  }
  if (!fs::exists(given, ignored)) return "";
  if (path.ends_with(kName)) return path;
  const bool is_weights = path.ends_with(".safetensors") ||
                          path.ends_with(".safetensors.index.json");
  const fs::path beside = given.parent_path() / kName;
  return is_weights && fs::exists(beside, ignored) ? beside.string() : "";
}

/// The decoder of a vision-language model as a config.json of its own. Old
/// files of Qwen2-VL have no text_config: its keys are at the top.
HubJson TextConfigOf(const HubJson& config, const HubTower& tower) {
  constexpr const char* kShared[] = {"tie_word_embeddings", "dtype",
                                     "torch_dtype", "quantization_config"};
  HubJson text = config.value("text_config", config);
  if (!text.is_object()) {
    throw Corrupt("text_config is {}, expected an object", ShowJson(text));
  }
  text.erase("architectures");
  if (!config.contains("text_config") || !text.contains("model_type")) {
    text["model_type"] = tower.text_type;
  }
  for (const char* key : kShared) {
    if (config.contains(key)) text[key] = config[key];
  }
  return text;
}

HubNetwork ReadWithTower(const HubJson& config, const HubTower& tower,
                         const std::string& origin) {
  const auto in_file = [&](const auto& read) {
    try {
      return read();
    } catch (const Error& error) {
      throw Corrupt("{}: {}", origin, error.what());
    }
  };
  const HubJson text = in_file([&] { return TextConfigOf(config, tower); });
  HubNetwork network = ReadHubConfig(text, origin);
  const auto fields = network.configuration->Fields();
  const auto width = std::ranges::find(fields, "width", &Field::name);
  const bool is_decoder =
      std::ranges::find(fields, "tower", &Field::name) != fields.end();
  if (!is_decoder || width == fields.end()) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: text_config is no decoder", origin));
  }
  const std::int64_t numbers = in_file([&] {
    return tower.count(config, std::get<std::int64_t>(width->value));
  });
  network.configuration->Set("tower", fmt::format("{},{}", numbers / kTowerUnit,
                                                  numbers % kTowerUnit));
  network.warnings.push_back(fmt::format(
      "{}: images are not predicted: the step reads texts, and the vision "
      "tower's {} parameters are held and do not run",
      origin, numbers));
  return network;
}

}  // namespace

HubNetwork ReadHubConfig(const HubJson& config, const std::string& origin) {
  const HubJson* given =
      config.is_object() ? FindHubValue(config, "model_type") : nullptr;
  const std::string name = given == nullptr ? "missing" : ShowJson(*given);
  if (given != nullptr && given->is_string()) {
    const HubTower* tower = FindHubTower(given->get<std::string>());
    if (tower != nullptr) return ReadWithTower(config, *tower, origin);
  }
  const auto types = HubTypes();
  const auto type = std::ranges::find_if(types, [&](const HubType& one) {
    return name == fmt::format("\"{}\"", one.model_type);
  });
  if (type == types.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format(
            "{}: model_type is {}, and the zoo has {}", origin, name,
            fmt::join(types | std::views::transform(&HubType::model_type),
                      ", ")));
  }
  return HubReader(config, *type, origin).Read();
}

std::optional<std::string> ReadHubText(const std::string& path) {
  const std::string file = HubFileAt(path);
  if (file.empty()) return std::nullopt;
  return ReadFile(file, kMostHubBytes);
}

std::optional<HubNetwork> ReadHubFile(const std::string& path) {
  const std::optional<std::string> text = ReadHubText(path);
  if (!text) return std::nullopt;
  const std::string file = HubFileAt(path);
  return ReadHubConfig(ParseJson(*text, file), file);
}

}  // namespace foretell::zoo
