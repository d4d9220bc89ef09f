// libyaml's events instead of its documents: a document is a graph in which a
// few lines of aliases of aliases stand for any number of values.

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "src/core/parse_json.h"
#include "src/recipes/documents.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

constexpr std::string_view kMergeKey = "<<";
constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

/// A value with its size, which an alias of it adds once more.
struct Node {
  json value = nullptr;
  std::size_t values = 1;
  std::size_t levels = 0;
};

/// A mapping or a list that is not complete.
struct OpenNode {
  Node node;
  std::string anchor;
  bool has_key = false;
  std::string key;
};

std::string TextOf(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

class YamlParser {
 public:
  YamlParser(std::string_view text, const std::string& origin)
      : origin_(origin) {
    if (yaml_parser_initialize(&parser_) == 0) {
      throw Error(ErrorCode::kInternal, origin + ": libyaml has no memory");
    }
    yaml_parser_set_input_string(
        &parser_, reinterpret_cast<const unsigned char*>(text.data()),
        text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  YamlParser(const YamlParser&) = delete;
  YamlParser& operator=(const YamlParser&) = delete;
  ~YamlParser() {
    if (has_event_) yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  json Parse() {
    int documents = 0;
    for (Next(); event_.type != YAML_STREAM_END_EVENT; Next()) {
      if (event_.type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
        Fail("a second document, expected one");
      }
      Take();
    }
    return std::move(root_);
  }

 private:
  [[noreturn]] void FailAt(const yaml_mark_t& mark,
                           const std::string& problem) const {
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: line {}, column {}: {}", origin_,
                            mark.line + 1, mark.column + 1, problem));
  }
  [[noreturn]] void Fail(const std::string& problem) const {
    FailAt(event_.start_mark, problem);
  }

  void Next() {
    if (has_event_) yaml_event_delete(&event_);
    has_event_ = yaml_parser_parse(&parser_, &event_) != 0;
    if (has_event_) return;
    const char* problem = parser_.problem;
    FailAt(parser_.problem_mark,
           problem == nullptr ? "is not valid YAML" : problem);
  }

  void Take() {
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        return TakeScalar();
      case YAML_ALIAS_EVENT:
        return TakeAlias();
      case YAML_MAPPING_START_EVENT:
        CheckTag(event_.data.mapping_start.tag, {"map"});
        return Open(json::object(), event_.data.mapping_start.anchor);
      case YAML_SEQUENCE_START_EVENT:
        CheckTag(event_.data.sequence_start.tag, {"seq"});
        return Open(json::array(), event_.data.sequence_start.anchor);
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        return Close();
      default:
        return;
    }
  }

  /// Accepts no tag, "!" and the core tags `names`.
  void CheckTag(const yaml_char_t* tag,
                std::initializer_list<std::string_view> names) const {
    const std::string text = TextOf(tag);
    if (text.empty() || text == "!") return;
    const bool is_core =
        text.starts_with(kCoreTag) &&
        std::ranges::find(names, std::string_view(text).substr(
                                     kCoreTag.size())) != names.end();
    if (!is_core) Fail(fmt::format("tag {} is not read", ShowJson(json(text))));
  }

  void TakeScalar() {
    const auto& scalar = event_.data.scalar;
    CheckTag(scalar.tag, {"str", "int", "float", "bool", "null"});
    const std::string text(reinterpret_cast<const char*>(scalar.value),
                           scalar.length);
    if (IsKeyNext()) return TakeKey(text);
    const bool is_plain =
        scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nullptr;
    Node node = {.value = is_plain ? ResolveScalar(text) : json(text)};
    Place(std::move(node), TextOf(scalar.anchor));
  }

  bool IsKeyNext() const {
    return !open_.empty() && open_.back().node.value.is_object() &&
           !open_.back().has_key;
  }

  void TakeKey(const std::string& key) {
    const json& mapping = open_.back().node.value;
    const auto field = mapping.find(key);
    if (field != mapping.end()) {
      Fail(fmt::format("key {} is given twice, first as {}",
                       ShowJson(json(key)), ShowJson(*field)));
    }
    open_.back().key = key;
    open_.back().has_key = true;
  }

  void TakeAlias() {
    const std::string name = TextOf(event_.data.alias.anchor);
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end()) {
      Fail(fmt::format("alias {} before its anchor", ShowJson(json(name))));
    }
    RefuseAsKey();
    Count(anchor->second.values, anchor->second.levels);
    AddToOpen(anchor->second);
  }

  void RefuseAsKey() const {
    if (IsKeyNext()) Fail("a key that is not a scalar");
  }

  /// Counts values that `levels` more levels hold.
  void Count(std::size_t values, std::size_t levels) {
    if ((values_ += values) > kMostValues) {
      Fail(fmt::format("more than {} values", kMostValues));
    }
    if (open_.size() + levels > kMostLevels) {
      Fail(fmt::format("nested deeper than {} levels", kMostLevels));
    }
  }

  void Open(json container, const yaml_char_t* anchor) {
    RefuseAsKey();
    Count(1, 1);
    open_.push_back({.node = {.value = std::move(container), .levels = 1},
                     .anchor = TextOf(anchor)});
  }

  void Close() {
    OpenNode closed = std::move(open_.back());
    open_.pop_back();
    --values_;  // Place counts it.
    if (closed.node.value.is_object()) Merge(closed.node.value);
    Place(std::move(closed.node), closed.anchor);
  }

  void Place(Node node, const std::string& anchor) {
    Count(1, 0);
    if (!anchor.empty()) anchors_.insert_or_assign(anchor, node);
    AddToOpen(std::move(node));
  }

  void AddToOpen(Node node) {
    if (open_.empty()) {
      root_ = std::move(node.value);
      return;
    }
    OpenNode& parent = open_.back();
    parent.node.values += node.values;
    parent.node.levels = std::max(parent.node.levels, node.levels + 1);
    if (parent.node.value.is_array()) {
      parent.node.value.push_back(std::move(node.value));
    } else {
      parent.node.value[parent.key] = std::move(node.value);
      parent.has_key = false;
    }
  }

  /// Fields of the mappings under `<<` that `mapping` does not have itself.
  void Merge(json& mapping) const {
    const auto field = mapping.find(kMergeKey);
    if (field == mapping.end()) return;
    const json merged = std::move(*field);
    mapping.erase(field);
    const json list = merged.is_array() ? merged : json::array({merged});
    for (const json& one : list) {
      if (!one.is_object()) Fail("<< merges something other than mappings");
      for (const auto& item : one.items()) {
        mapping.emplace(item.key(), item.value());
      }
    }
  }

  const std::string& origin_;
  yaml_parser_t parser_ = {};
  yaml_event_t event_ = {};
  bool has_event_ = false;
  json root_;
  std::vector<OpenNode> open_;  ///< The outermost first.
  std::map<std::string, Node> anchors_;
  std::size_t values_ = 0;
};

}  // namespace

json ParseYaml(std::string_view text, const std::string& origin) {
  return YamlParser(text, origin).Parse();
}

}  // namespace foretell::recipes
