#include "src/network/checkpoint_json.h"

#include <fmt/core.h>

#include <optional>

#include "src/core/failure.h"
#include "src/features/node_costs.h"

namespace foretell::learned {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxWidth = 1 << 14;
constexpr std::int64_t kMaxBlocks = 256;

void DescribeInterval(JsonFields& fields, ResidualInterval& interval) {
  fields.Value("lo", interval.lo);
  fields.Value("hi", interval.hi);
  fields.Require(interval.lo <= interval.hi, "hi",
                 fmt::format("is {}, below lo {}", interval.hi, interval.lo));
  fields.Number("coverage", interval.coverage, 0, 1);
  fields.Int("count", interval.count, 0, INT64_MAX);
}

void DescribeTarget(JsonFields& fields, CheckpointTarget& target) {
  TargetScale& scale = target.scale;
  fields.Named("name", scale.target, &TargetField, &ParseTarget);
  fields.Derived("unit", [&] { return TargetUnit(scale.target); });
  fields.Named("scale", scale.kind, &ScaleKindName, &ParseScaleKind);
  fields.Value("mean", scale.mean);
  fields.Value("deviation", scale.deviation);
  fields.Require(
      scale.deviation > 0, "deviation",
      fmt::format("is {}, expected a number above 0", scale.deviation));
  fields.ObjectOrNull("interval", target.interval, &DescribeInterval);
  fields.Optional("validation_mape", target.validation_mape);
}

void DescribeColumn(JsonFields& fields, InputColumn& column) {
  fields.Named("source", column.key.source, &ColumnSourceName,
               &ParseColumnSource);
  fields.Value("key", column.key.key);
  fields.Value("offset", column.offset);
  fields.Value("scale", column.scale);
  if (column.key.source == ColumnSource::kSetting) {
    fields.Value("value", column.key.value);
  }
}

/// A recipe, and the version of its terms, absent in checkpoints older than the
/// field.
void DescribeRecipe(JsonFields& fields, InputRecipe& recipe,
                    std::optional<int>& version) {
  std::optional<TermSet>& terms = recipe.terms;
  if (fields.IsGivenOrNull("terms", terms.has_value())) {
    if (!terms) terms.emplace();
    fields.Named("terms", *terms, &TermSetName, &ParseTermSet);
  }
  fields.Optional("terms_version", version);
  fields.Named("edges", recipe.edges, &EdgeKindName, &ParseEdgeKind);
  fields.Value("node_costs", recipe.node_costs);
  fields.Objects("columns", recipe.columns, &DescribeColumn);
  fields.Value("prior", recipe.prior);
  fields.Value("context", recipe.context);
  fields.Named("host", recipe.host, &HostName, &ParseHost);
  fields.Value("restore_folded_norms", recipe.restore_folded_norms);
}

void DescribeProbe(JsonFields& fields, TermProbe& probe) {
  fields.Value("amounts", probe.amounts);
  fields.Value("features", probe.features);
}

/// All fields of the current schema, except for the recipe.
void DescribeInfo(JsonFields& fields, CheckpointInfo& info) {
  fields.Derived("schema_version", [] { return kCheckpointSchema; });
  fields.Value("feature_version", info.feature_version);
  fields.Value("foretell_version", info.foretell_version);
  fields.Object("network", [&](JsonFields& network) {
    DescribeNetwork(network, info.network);
  });
  fields.Objects("targets", info.targets, &DescribeTarget);
  fields.Value("devices", info.devices);
  fields.Value("sources", info.sources);
  fields.Value("provenance", info.provenance);
  fields.Value("environment", info.environment);
  fields.Value("epochs", info.epochs);
  // Absent in checkpoints older than the field.
  fields.Optional("far_distance", info.far_distance);
  fields.OptionalObject("probe", info.probe, &DescribeProbe);
}

/// Refuses networks that learned from terms of another version.
void CheckTerms(TermSet set, int version, const std::string& origin) {
  const TermSetRow& row = RowOf(set);
  if (version == row.version) return;
  throw Unsupported(
      "{}: learned from version {} of '{}', this foretell makes version {}: "
      "train it again",
      origin, version, row.name, row.version);
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
  if (!value) throw Corrupt("{}: {} is '{}'", origin, key, text);
  return *value;
}

/// The recipe of schema 1: columns by name, the prior next to them, the network
/// for the terms, and the rest among the notes.
InputRecipe RecipeOfSchema1(JsonObject& object, CheckpointInfo& info,
                            const std::string& origin) {
  InputRecipe recipe{.terms = info.network.kind.terms,
                     .prior = object.Get<std::string>("prior")};
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
    throw Unsupported("{}: schema version {}, this foretell reads up to {}",
                      origin, schema, kCheckpointSchema);
  }
  const auto version = object.Get<int>("feature_version");
  if (version != kFeatureVersion) {
    throw Unsupported(
        "{}: trained on node features of version {}, this foretell makes "
        "version {}",
        origin, version, kFeatureVersion);
  }
  return schema;
}

void CheckSizes(const CheckpointInfo& info, const std::string& origin) {
  const auto expect = [&](const char* what, std::int64_t is, std::size_t due) {
    if (is == static_cast<std::int64_t>(due)) return;
    throw Corrupt("{}: {} is {}, expected {}", origin, what, is, due);
  };
  const std::optional<TermSet>& terms = info.recipe.terms;
  if (terms != info.network.kind.terms) {
    throw Corrupt("{}: network '{}' does not see what the recipe makes", origin,
                  NetworkKindName(info.network.kind));
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
    throw Corrupt("{}: targets are scaled by both '{}' and '{}'", origin,
                  ScaleKindName(target.scale.kind),
                  ScaleKindName(info.targets.front().scale.kind));
  }
}

}  // namespace

void DescribeNetwork(JsonFields& fields, NetworkOptions& options) {
  fields.Named("kind", options.kind, &NetworkKindName, &ParseNetworkKind);
  fields.Int("node_features", options.node_features, 0, kMaxWidth);
  fields.Int("static_features", options.static_features, 0, kMaxWidth);
  fields.Int("hidden", options.hidden, 0, kMaxWidth);
  fields.Int("graph_blocks", options.graph_blocks, 0, kMaxBlocks);
  fields.Int("layers_per_block", options.layers_per_block, 0, kMaxBlocks);
  fields.Int("head_blocks", options.head_blocks, 0, kMaxBlocks);
  fields.Int("outputs", options.outputs, 0, kMaxWidth);
  fields.Value("dropout", options.dropout);
  fields.Named("pooling", options.pooling, &PoolingName, &ParsePooling);
  // Absent in checkpoints that are older than they.
  if (fields.IsGiven("heads")) {
    fields.Int("heads", options.heads, 0, kMaxBlocks);
  }
  if (fields.IsGiven("members")) {
    fields.Int("members", options.members, 1, kMaxBlocks);
  }
}

Json InfoToJson(const CheckpointInfo& info) {
  Json json = WriteFields(info, &DescribeInfo);
  std::optional<int> version;
  if (info.recipe.terms) version = RowOf(*info.recipe.terms).version;
  json["recipe"] = WriteFields(info.recipe, [&](JsonFields& in, auto& recipe) {
    DescribeRecipe(in, recipe, version);
  });
  return json;
}

CheckpointInfo InfoFromJson(const Json& json, const std::string& origin) {
  JsonObject object(json, origin, "", UnknownFields::kIgnored);
  const int schema = CheckVersions(object, origin);
  auto info = ReadFields<CheckpointInfo>(object, &DescribeInfo);
  std::optional<int> version;
  if (schema == 1) {
    info.recipe = RecipeOfSchema1(object, info, origin);
  } else {
    JsonFields(object).Object("recipe", [&](JsonFields& recipe) {
      DescribeRecipe(recipe, info.recipe, version);
    });
  }
  const std::optional<TermSet>& terms = info.recipe.terms;
  if (terms) CheckTerms(*terms, version.value_or(1), origin);
  CheckSizes(info, origin);
  return info;
}

}  // namespace foretell::learned
