#include "src/network/checkpoint_json.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <utility>

#include "foretell/error.h"
#include "src/features/node_costs.h"

namespace foretell::learned {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxWidth = 1 << 14;
constexpr std::int64_t kMaxBlocks = 256;

[[noreturn]] void Fail(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, fmt::format("{}: {}", origin, what));
}

/// Reads fields of one object with the file's name at hand for errors.
class Fields {
 public:
  Fields(const Json& json, std::string place)
      : json_(json), place_(std::move(place)) {
    if (!json_.is_object()) Fail(place_, "is not a JSON object");
  }

  template <typename Value>
  Value Get(const char* name) const {
    if (!json_.contains(name)) Fail(place_, fmt::format("no '{}'", name));
    try {
      return json_.at(name).get<Value>();
    } catch (const Json::exception&) {
      Fail(place_, fmt::format("'{}' is {}", name, json_.at(name).dump()));
    }
  }

  std::int64_t Size(const char* name, std::int64_t most) const {
    const auto value = Get<std::int64_t>(name);
    if (value < 0 || value > most) {
      Fail(place_,
           fmt::format("'{}' is {}, expected at most {}", name, value, most));
    }
    return value;
  }

  double Finite(const char* name) const {
    const auto value = Get<double>(name);
    if (!std::isfinite(value)) {
      Fail(place_, fmt::format("'{}' is not finite", name));
    }
    return value;
  }

  /// The value that `parse` makes of a name.
  template <typename Parse>
  auto Named(const char* name, Parse parse) const {
    const auto text = Get<std::string>(name);
    const auto value = parse(text);
    if (!value) Fail(place_, fmt::format("'{}' is '{}'", name, text));
    return *value;
  }

  const Json& operator[](const char* name) const {
    if (!json_.contains(name)) Fail(place_, fmt::format("no '{}'", name));
    return json_.at(name);
  }
  const std::string& place() const { return place_; }

 private:
  const Json& json_;
  std::string place_;
};

Json IntervalToJson(const std::optional<ResidualInterval>& interval) {
  if (!interval) return nullptr;
  return {{"lo", interval->lo},
          {"hi", interval->hi},
          {"coverage", interval->coverage},
          {"count", interval->count}};
}

std::optional<ResidualInterval> IntervalFromJson(const Json& json,
                                                 const std::string& place) {
  if (json.is_null()) return std::nullopt;
  const Fields fields(json, place + ": interval");
  return ResidualInterval{fields.Finite("lo"), fields.Finite("hi"),
                          fields.Finite("coverage"),
                          fields.Get<std::int64_t>("count")};
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

CheckpointTarget TargetFromJson(const Json& json, const std::string& origin) {
  const Fields fields(json, origin + ": target");
  CheckpointTarget target;
  target.scale = {fields.Named("name", &ParseTarget),
                  fields.Named("scale", &ParseScaleKind), fields.Finite("mean"),
                  fields.Finite("deviation")};
  if (!(target.scale.deviation > 0))
    Fail(fields.place(), "deviation is not > 0");
  target.interval = IntervalFromJson(fields["interval"], fields.place());
  if (!fields["validation_mape"].is_null()) {
    target.validation_mape = fields.Finite("validation_mape");
  }
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

InputColumn ColumnFromJson(const Json& json, const std::string& origin) {
  const Fields fields(json, origin + ": column");
  InputColumn column{
      .key = {.source = fields.Named("source", &ParseColumnSource),
              .key = fields.Get<std::string>("key")},
      .offset = fields.Finite("offset"),
      .scale = fields.Finite("scale")};
  if (column.key.source == ColumnSource::kSetting) {
    column.key.value = fields.Get<std::string>("value");
  }
  return column;
}

Json RecipeToJson(const InputRecipe& recipe) {
  Json columns = Json::array();
  for (const InputColumn& column : recipe.columns) {
    columns.push_back(ColumnToJson(column));
  }
  return {{"terms", recipe.terms ? Json(TermSetName(*recipe.terms)) : Json()},
          {"edges", EdgeKindName(recipe.edges)},
          {"node_costs", recipe.node_costs},
          {"columns", std::move(columns)},
          {"prior", recipe.prior},
          {"context", recipe.context},
          {"host", HostName(recipe.host)},
          {"restore_folded_norms", recipe.restore_folded_norms}};
}

InputRecipe RecipeFromJson(const Json& json, const std::string& origin) {
  const Fields fields(json, origin + ": recipe");
  InputRecipe recipe{
      .edges = fields.Named("edges", &ParseEdgeKind),
      .node_costs = fields.Get<bool>("node_costs"),
      .prior = fields.Get<std::string>("prior"),
      .context = fields.Get<std::string>("context"),
      .host = fields.Named("host", &ParseHost),
      .restore_folded_norms = fields.Get<bool>("restore_folded_norms")};
  if (!fields["terms"].is_null()) {
    recipe.terms = fields.Named("terms", &ParseTermSet);
  }
  for (const Json& column : fields["columns"]) {
    recipe.columns.push_back(ColumnFromJson(column, origin));
  }
  return recipe;
}

/// Takes a note of schema 1 out of the others; `otherwise` where it is missing.
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

/// The recipe of schema 1: columns by name, the prior beside them, the network
/// for the terms, and the rest among the notes.
InputRecipe RecipeOfSchema1(const Fields& fields, CheckpointInfo& info,
                            const std::string& origin) {
  InputRecipe recipe{.terms = info.network.kind.terms,
                     .prior = fields.Get<std::string>("prior")};
  recipe.node_costs =
      !recipe.terms && info.network.node_features > kNumNodeFeatures;
  for (const Json& input : fields["inputs"]) {
    const Fields column(input, origin + ": input");
    recipe.columns.push_back({ParseColumnKey(column.Get<std::string>("name")),
                              column.Finite("offset"), column.Finite("scale")});
  }
  recipe.edges = TakeNote(info, "edges", "data-flow", &ParseEdgeKind, origin);
  recipe.host = TakeNote(info, "prior_host", "python", &ParseHost, origin);
  recipe.context = TakeNote(
      info, "prior_environment", "",
      [](const std::string& name) { return std::optional(name); }, origin);
  return recipe;
}

/// The schema's version.
int CheckVersions(const Fields& fields, const std::string& origin) {
  const auto schema = fields.Get<int>("schema_version");
  if (schema < 1 || schema > kCheckpointSchema) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{}: schema version {}, this foretell reads up to {}",
                    origin, schema, kCheckpointSchema));
  }
  const auto version = fields.Get<int>("feature_version");
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
          {"heads", options.heads}};
}

NetworkOptions NetworkFromJson(const Json& json, const std::string& origin) {
  const Fields fields(json, origin + ": network");
  return {.kind = fields.Named("kind", &ParseNetworkKind),
          .node_features = fields.Size("node_features", kMaxWidth),
          .static_features = fields.Size("static_features", kMaxWidth),
          .hidden = fields.Size("hidden", kMaxWidth),
          .graph_blocks = fields.Size("graph_blocks", kMaxBlocks),
          .layers_per_block = fields.Size("layers_per_block", kMaxBlocks),
          .head_blocks = fields.Size("head_blocks", kMaxBlocks),
          .outputs = fields.Size("outputs", kMaxWidth),
          .dropout = fields.Finite("dropout"),
          .pooling = fields.Named("pooling", &ParsePooling),
          // Absent in checkpoints older than the kinds that have heads.
          .heads = json.contains("heads") ? fields.Size("heads", kMaxBlocks)
                                          : NetworkOptions{}.heads};
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
  const Fields fields(json, origin);
  const int schema = CheckVersions(fields, origin);
  CheckpointInfo info;
  info.feature_version = fields.Get<int>("feature_version");
  info.foretell_version = fields.Get<std::string>("foretell_version");
  info.network = NetworkFromJson(fields["network"], origin);
  for (const Json& target : fields["targets"]) {
    info.targets.push_back(TargetFromJson(target, origin));
  }
  info.devices = fields.Get<std::vector<std::string>>("devices");
  info.sources = fields.Get<std::vector<std::string>>("sources");
  info.provenance =
      fields.Get<std::map<std::string, std::int64_t>>("provenance");
  info.environment =
      fields.Get<std::map<std::string, std::string>>("environment");
  info.recipe = schema == 1 ? RecipeOfSchema1(fields, info, origin)
                            : RecipeFromJson(fields["recipe"], origin);
  info.epochs = fields.Get<std::int64_t>("epochs");
  // Absent in checkpoints older than the field.
  if (json.contains("far_distance") && !json["far_distance"].is_null()) {
    info.far_distance = fields.Finite("far_distance");
  }
  CheckSizes(info, origin);
  return info;
}

}  // namespace foretell::learned
