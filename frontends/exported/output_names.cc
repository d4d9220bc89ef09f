#include "frontends/exported/output_names.h"

#include <fmt/core.h>

#include <cstddef>

#include "foretell/error.h"
#include "src/core/parse_json.h"

namespace foretell::exported {
namespace {

/// `[1, {"type": "builtins.dict", "context": "[\"loss\"]", "children_spec":
/// …}]`
constexpr std::string_view kNamedTuple = "collections.namedtuple";

class PathReader {
 public:
  PathReader(const Json* tuple_fields, std::vector<std::string>& paths)
      : tuple_fields_(tuple_fields), paths_(paths) {}

  void Read(const Json& spec, const std::string& path) {
    const Json& children = spec.at("children_spec");
    if (spec.at("type").is_null()) {
      paths_.push_back(path);
      return;
    }
    const std::vector<std::string> names = NamesOf(spec, children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      std::string name = names.empty() ? "" : names[i];
      if (names.empty() && !path.empty()) name = fmt::format("{}", i);
      Read(children[i], path.empty() ? name : path + "." + name);
    }
  }

 private:
  /// Of the children of a dictionary or a class; empty for other containers.
  std::vector<std::string> NamesOf(const Json& spec, std::size_t count) const {
    const Json& context = spec.at("context");
    if (!context.is_string()) return {};
    const auto& text = context.get_ref<const std::string&>();
    if (spec.at("type") == kNamedTuple) return FieldsOf(text, count);
    const Json keys = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return TextsOf(keys, count);
  }

  std::vector<std::string> FieldsOf(const std::string& tuple,
                                    std::size_t count) const {
    if (tuple_fields_ == nullptr) return {};
    const auto found = tuple_fields_->find(tuple);
    if (found == tuple_fields_->end()) return {};
    return TextsOf(found->at("field_names"), count);
  }

  static std::vector<std::string> TextsOf(const Json& list, std::size_t count) {
    if (!list.is_array() || list.size() != count) return {};
    std::vector<std::string> texts;
    for (const Json& text : list) {
      if (!text.is_string()) return {};
      texts.push_back(text.get<std::string>());
    }
    return texts;
  }

  const Json* tuple_fields_;
  std::vector<std::string>& paths_;
};

}  // namespace

std::vector<std::string> OutputPaths(const Document& document,
                                     const Json& module) {
  std::vector<std::string> paths;
  try {
    const Json& whole = module.at("module_call_graph").at(0).at("signature");
    const Json spec =
        ParseJson(whole.at("out_spec").get_ref<const std::string&>(), "",
                  {.levels = kMostLevels});
    PathReader reader(document.Find(module, "treespec_namedtuple_fields"),
                      paths);
    reader.Read(spec.at(1), "");
  } catch (const Json::exception&) {
    return {};
  } catch (const Error&) {
    return {};
  }
  return paths;
}

}  // namespace foretell::exported
