#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "foretell/graph_io.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kJsonSchemaVersion = 1;

Json ToJson(const TensorType& type) {
  return {{"dtype", DTypeName(type.dtype)}, {"shape", type.shape}};
}

Json ToJson(const GraphInfo& info) {
  Json json = {{"name", info.name},
               {"mode", ModeName(info.mode)},
               {"precision", PrecisionName(info.precision)},
               {"batch", info.batch},
               {"optimizer", info.optimizer}};
  if (info.autocast) json["autocast"] = DTypeName(*info.autocast);
  if (info.grad_mode) json["grad_mode"] = true;
  if (info.channels_last) json["channels_last"] = true;
  if (info.runtime != RuntimeSpec{}) json["runtime"] = ToString(info.runtime);
  return json;
}

Json ToJson(const Storage& storage) {
  return {{"bytes", storage.bytes},
          {"role", TensorRoleName(storage.role)},
          {"label", storage.label}};
}

Json ToJson(const Value& value) {
  Json json = {{"name", value.name}};
  json.update(ToJson(value.type));
  if (!value.strides.empty()) json["strides"] = value.strides;
  json["storage"] = value.storage;
  json["producer"] = value.producer == kNone ? Json() : Json(value.producer);
  return json;
}

Json ToJson(const Node& node) {
  Json attributes = Json::object();
  for (const auto& [name, attribute] : node.attributes) {
    attributes[name] =
        std::visit([](const auto& value) { return Json(value); }, attribute);
  }
  Json json = {{"target", node.target},
               {"kind", OpKindName(node.kind)},
               {"scope", node.scope},
               {"phase", PhaseName(node.phase)},
               {"inputs", node.inputs},
               {"outputs", node.outputs},
               {"attributes", std::move(attributes)},
               {"macs", node.macs}};
  for (const Node& call : node.calls) json["calls"].push_back(ToJson(call));
  return json;
}

Json ToJson(const MemoryEvent& event) {
  const bool allocates = event.kind == MemoryEvent::Kind::kAllocate;
  return {{"event", allocates ? "allocate" : "free"},
          {"storage", event.storage},
          {"node", event.node == kNone ? Json() : Json(event.node)}};
}

/// `"key": [` with one element per line, so that documents can be compared.
template <typename T>
std::string ListOf(std::string_view key, std::span<const T> elements) {
  std::string text = fmt::format("  \"{}\": [", key);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    text += DumpJson(ToJson(elements[i]), kOneLine);
  }
  return text + "],\n";
}

std::string Field(std::string_view key, const Json& value) {
  return fmt::format("  \"{}\": {}", key, DumpJson(value, kOneLine));
}

}  // namespace

std::string GraphToJson(const OperatorGraph& graph) {
  const auto ids = [](std::span<const ValueId> span) {
    return std::vector<ValueId>(span.begin(), span.end());
  };
  std::string text = "{\n";
  text += Field("schema_version", kJsonSchemaVersion) + ",\n";
  text += Field("graph", ToJson(graph.info())) + ",\n";
  text += Field("forward_macs", graph.ForwardMacs()) + ",\n";
  text += Field("parameters", graph.ParameterElements()) + ",\n";
  text += Field("inputs", ids(graph.inputs())) + ",\n";
  text += Field("outputs", ids(graph.outputs())) + ",\n";
  text += ListOf("values", graph.values());
  text += ListOf("nodes", graph.nodes());
  text += ListOf("storages", graph.storages());
  text += ListOf("events", graph.events());
  text += Field("edges", graph.Edges()) + "\n}\n";
  return text;
}

}  // namespace foretell
