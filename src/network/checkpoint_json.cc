#include "src/network/checkpoint_json.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "src/core/json_object.h"
#include "src/features/node_costs.h"

namespace foretell::learned {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxWidth = 1 << 14;
constexpr std::int64_t kMaxBlocks = 256;

[[noreturn]] void Fail(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, fmt::format("{}: {}", origin, what));
}

Json IntervalToJson(const std::optional<ResidualInterval>& interval) {
  if (!interval) return nullptr;
  return {{"lo", interval->lo},
          {"hi", interval->hi},
          {"coverage", interval->coverage},
          {"count", interval->count}};
}

ResidualInterval ReadInterval(JsonObject object) {
  const double lo = object.Get<double>("lo");
  const double hi = object.Get<double>("hi");
  if (lo > hi) object.Fail("hi", fmt::format("is {}, below lo {}", hi, lo));
  return {lo, hi, object.Number("coverage", 0, 1),
          object.Int("count", 0, INT64_MAX)};
}

Json TargetToJson(const CheckpointTarget& target) {
  return {
      {"name", TargetField(target.scale.target)},
      {"unit", TargetUnit(target.scale.target)},
      {"scale", ScaleKindName(target.scale.kind)},
      {"mean", target.scale.mean},
      {"deviation", target.scale.deviation},
      {"interval", IntervalToJson(target.interval)},
      {"validation_mape",
       target.validation_mape ? Json(*target.validation_mape) : Json(nullptr)}};
}

CheckpointTarget ReadTarget(JsonObject& object) {
  CheckpointTarget target;
  target.scale = {object.Named("name", &ParseTarget),
                  object.Named("scale", &ParseScaleKind),
                  object.Get<double>("mean"), object.Get<double>("deviation")};
  if (!(target.scale.deviation > 0)) {
    object.Fail("deviation", fmt::format("is {}, expected a number above 0",
                                         target.scale.deviation));
  }
  if (object.IsGiven("interval")) {
    target.interval = ReadInterval(object.Object("interval"));
  }
  object.Read("validation_mape", target.validation_mape);
  return target;
}

Json ColumnToJson(const InputColumn& column) {
  Json json = {{"source", ColumnSourceName(column.key.source)},
               {"key", column.key.key},
               {"offset", column.offset},
               {"scale", column.scale}};
  if (column.key.source == ColumnSource::kSetting) {
    json["value"] = column.key.value;
  }
  return json;
}

InputColumn ReadColumn(JsonObject& object) {
  InputColumn column{
      .key = {.source = object.Named("source", &ParseColumnSource),
              .key = object.Get<std::string>("key")},
      .offset = object.Get<double>("offset"),
      .scale = object.Get<double>("scale")};
  if (column.key.source == ColumnSource::kSetting) {
    column.key.value = object.Get<std::string>("value");
  }
  return column;
}

/// Refuses networks that learned from terms of another version.
void CheckTerms(TermSet set, int version, const std::string& origin) {
  const TermSetRow& row = RowOf(set);
  if (version == row.version) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: learned from version {} of '{}', this foretell "
                          "makes version {}: train it again",
                          origin, version, row.name, row.version));
}

Json RecipeToJson(const InputRecipe& recipe) {
  Json columns = Json::array();
  for (const InputColumn& column : recipe.columns) {
    columns.push_back(ColumnToJson(column));
  }
  const std::optional<TermSet>& terms = recipe.terms;
  return {{"terms", terms ? Json(TermSetName(*terms)) : Json()},
          {"terms_version", terms ? Json(RowOf(*terms).version) : Json()},
          {"edges", EdgeKindName(recipe.edges)},
          {"node_costs", recipe.node_costs},
          {"columns", std::move(columns)},
          {"prior", recipe.prior},
          {"context", recipe.context},
          {"host", HostName(recipe.host)},
          {"restore_folded_norms", recipe.restore_folded_norms}};
}

InputRecipe ReadRecipe(JsonObject object, const std::string& origin) {
  InputRecipe recipe{
      .edges = object.Named("edges", &ParseEdgeKind),
      .node_costs = object.Get<bool>("node_costs"),
      .prior = object.Get<std::string>("prior"),
      .context = object.Get<std::string>("context"),
      .host = object.Named("host", &ParseHost),
      .restore_folded_norms = object.Get<bool>("restore_folded_norms")};
  object.ReadNamed("terms", &ParseTermSet, recipe.terms);
  int terms_version = 1;  // Absent in checkpoints older than the field.
  object.Read("terms_version", terms_version);
  if (recipe.terms) CheckTerms(*recipe.terms, terms_version, origin);
  for (JsonObject& column : object.Objects("columns")) {
    recipe.columns.push_back(ReadColumn(column));
  }
  return recipe;
}

/// Removes a note of schema 1 from the others; `otherwise` if it is missing.
template <typename Parse>
auto TakeNote(CheckpointInfo& info, const char* key, const char* otherwise,
              Parse parse, const std::string& origin) {
  std::string text = otherwise;
  const auto found = info.environment.find(key);
  if (found != info.environment.end()) {
    text = found->second;
    info.environment.erase(found);
  }
  const auto value = parse(text);
  if (!value) Fail(origin, fmt::format("{} is '{}'", key, text));
  return *value;
}

/// The recipe of schema 1: columns by name, the prior next to them, the network
/// for the terms, and the rest among the notes.
InputRecipe RecipeOfSchema1(JsonObject& object, CheckpointInfo& info,
                            const std::string& origin) {
  InputRecipe recipe{.terms = info.network.kind.terms,
                     .prior = object.Get<std::string>("prior")};
  if (recipe.terms) CheckTerms(*recipe.terms, 1, origin);
  recipe.node_costs =
      !recipe.terms && info.network.node_features > kNumNodeFeatures;
  for (JsonObject& column : object.Objects("inputs")) {
    recipe.columns.push_back({ParseColumnKey(column.Get<std::string>("name")),
                              column.Get<double>("offset"),
                              column.Get<double>("scale")});
  }
  recipe.edges = TakeNote(info, "edges", "data-flow", &ParseEdgeKind, origin);
  recipe.host = TakeNote(info, "prior_host", "python", &ParseHost, origin);
  recipe.context = TakeNote(
      info, "prior_environment", "",
      [](const std::string& name) { return std::optional(name); }, origin);
  return recipe;
}

/// The schema's version.
int CheckVersions(JsonObject& object, const std::string& origin) {
  const auto schema = object.Get<int>("schema_version");
  if (schema < 1 || schema > kCheckpointSchema) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{}: schema version {}, this foretell reads up to {}",
                    origin, schema, kCheckpointSchema));
  }
  const auto version = object.Get<int>("feature_version");
  if (version != kFeatureVersion) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: trained on node features of version {}, this "
                            "foretell makes version {}",
                            origin, version, kFeatureVersion));
  }
  return schema;
}

void CheckSizes(const CheckpointInfo& info, const std::string& origin) {
  const auto expect = [&](const char* what, std::int64_t is, std::size_t due) {
    if (is == static_cast<std::int64_t>(due)) return;
    Fail(origin, fmt::format("{} is {}, expected {}", what, is, due));
  };
  const std::optional<TermSet>& terms = info.recipe.terms;
  if (terms != info.network.kind.terms) {
    Fail(origin, fmt::format("network '{}' does not see what the recipe makes",
                             NetworkKindName(info.network.kind)));
  }
  const TermLayout layout = terms ? LayoutOf(*terms) : TermLayout{};
  expect("node_features", info.network.node_features,
         terms
             ? layout.num_classes + layout.num_features
             : kNumNodeFeatures + (info.recipe.node_costs ? kNumNodeCosts : 0));
  expect("static_features", info.network.static_features - layout.num_totals,
         info.recipe.columns.size());
  expect("outputs", info.network.outputs, info.targets.size());
  for (const CheckpointTarget& target : info.targets) {
    if (target.scale.kind == info.targets.front().scale.kind) continue;
    Fail(origin, fmt::format("targets are scaled by both '{}' and '{}'",
                             ScaleKindName(target.scale.kind),
                             ScaleKindName(info.targets.front().scale.kind)));
  }
}

NetworkOptions ReadNetwork(JsonObject object) {
  return {.kind = object.Named("kind", &ParseNetworkKind),
          .node_features = object.Int("node_features", 0, kMaxWidth),
          .static_features = object.Int("static_features", 0, kMaxWidth),
          .hidden = object.Int("hidden", 0, kMaxWidth),
          .graph_blocks = object.Int("graph_blocks", 0, kMaxBlocks),
          .layers_per_block = object.Int("layers_per_block", 0, kMaxBlocks),
          .head_blocks = object.Int("head_blocks", 0, kMaxBlocks),
          .outputs = object.Int("outputs", 0, kMaxWidth),
          .dropout = object.Get<double>("dropout"),
          .pooling = object.Named("pooling", &ParsePooling),
          // Absent in checkpoints that are older than they.
          .heads = object.Has("heads") ? object.Int("heads", 0, kMaxBlocks)
                                       : NetworkOptions{}.heads,
          .members = object.Has("members")
                         ? object.Int("members", 1, kMaxBlocks)
                         : NetworkOptions{}.members};
}

}  // namespace

Json NetworkToJson(const NetworkOptions& options) {
  return {{"kind", NetworkKindName(options.kind)},
          {"node_features", options.node_features},
          {"static_features", options.static_features},
          {"hidden", options.hidden},
          {"graph_blocks", options.graph_blocks},
          {"layers_per_block", options.layers_per_block},
          {"head_blocks", options.head_blocks},
          {"outputs", options.outputs},
          {"dropout", options.dropout},
          {"pooling", PoolingName(options.pooling)},
          {"heads", options.heads},
          {"members", options.members}};
}

NetworkOptions NetworkFromJson(const Json& json, const std::string& origin) {
  return ReadNetwork(JsonObject(json, origin, "network"));
}

Json InfoToJson(const CheckpointInfo& info) {
  Json targets = Json::array();
  for (const CheckpointTarget& target : info.targets) {
    targets.push_back(TargetToJson(target));
  }
  return {{"schema_version", kCheckpointSchema},
          {"feature_version", info.feature_version},
          {"foretell_version", info.foretell_version},
          {"network", NetworkToJson(info.network)},
          {"targets", std::move(targets)},
          {"recipe", RecipeToJson(info.recipe)},
          {"devices", info.devices},
          {"sources", info.sources},
          {"provenance", info.provenance},
          {"environment", info.environment},
          {"epochs", info.epochs},
          {"far_distance",
           info.far_distance ? Json(*info.far_distance) : Json(nullptr)}};
}

CheckpointInfo InfoFromJson(const Json& json, const std::string& origin) {
  JsonObject object(json, origin, "");
  const int schema = CheckVersions(object, origin);
  CheckpointInfo info;
  info.feature_version = object.Get<int>("feature_version");
  info.foretell_version = object.Get<std::string>("foretell_version");
  info.network = ReadNetwork(object.Object("network"));
  for (JsonObject& target : object.Objects("targets")) {
    info.targets.push_back(ReadTarget(target));
  }
  info.devices = object.Get<std::vector<std::string>>("devices");
  info.sources = object.Get<std::vector<std::string>>("sources");
  info.provenance =
      object.Get<std::map<std::string, std::int64_t>>("provenance");
  info.environment =
      object.Get<std::map<std::string, std::string>>("environment");
  info.recipe = schema == 1 ? RecipeOfSchema1(object, info, origin)
                            : ReadRecipe(object.Object("recipe"), origin);
  info.epochs = object.Get<std::int64_t>("epochs");
  // Absent in checkpoints older than the field.
  object.Read("far_distance", info.far_distance);
  CheckSizes(info, origin);
  return info;
}

}  // namespace foretell::learned
