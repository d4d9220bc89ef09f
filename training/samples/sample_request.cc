#include "training/samples/sample_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "src/core/name_table.h"
#include "src/core/parse_json.h"
#include "src/features/terms.h"

namespace foretell::training {
namespace {

constexpr NameTable<3> kPriorSourceNames = {"none", "analytic", "labels"};

/// Values of an enumeration as a list of their names.
template <typename Value>
std::vector<std::string> NamesOf(const std::vector<Value>& values,
                                 std::string_view (*name_of)(Value)) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  return names;
}

/// A JSON object whose fields are names.
class NameReader {
 public:
  NameReader(const nlohmann::json& object, const std::string& origin)
      : object_(object), origin_(origin) {}

  template <typename Value>
  void Read(const char* key, std::optional<Value> (*parse)(std::string_view),
            Value& value) const {
    value = Parsed(key, object_.at(key), parse);
  }

  template <typename Value>
  void Read(const char* key, std::optional<Value> (*parse)(std::string_view),
            std::vector<Value>& values) const {
    values.clear();
    for (const nlohmann::json& name : object_.at(key)) {
      values.push_back(Parsed(key, name, parse));
    }
  }

 private:
  template <typename Value>
  Value Parsed(const char* key, const std::string& name,
               std::optional<Value> (*parse)(std::string_view)) const {
    if (const std::optional<Value> value = parse(name)) return *value;
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: {} is '{}'", origin_, key, name));
  }

  const nlohmann::json& object_;
  const std::string& origin_;
};

void ReadLabels(const nlohmann::json& object, const NameReader& names,
                SampleRequest& request) {
  if (request.dataset.empty()) request.dataset = object.at("dataset");
  object.at("split").get_to(request.split);
  object.at("devices").get_to(request.devices);
  object.at("sources").get_to(request.sources);
  object.at("simulated_weight").get_to(request.simulated_weight);
  object.at("device_files").get_to(request.device_files);
  names.Read("targets", &learned::ParseTarget, request.targets);
  names.Read("provenances", &ParseProvenance, request.provenances);
}

void ReadInputs(const nlohmann::json& object, const NameReader& names,
                SampleRequest& request) {
  object.at("device_columns").get_to(request.device_columns);
  object.at("prior_columns").get_to(request.prior_columns);
  object.at("environment_keys").get_to(request.setting_keys);
  names.Read("prior", &ParsePriorSource, request.prior);
  learned::InputRecipe& recipe = request.recipe;
  object.at("node_costs").get_to(recipe.node_costs);
  object.at("environment").get_to(recipe.context);
  names.Read("host", &ParseHost, recipe.host);
  // Absent in runs older than the option.
  if (object.contains("edges")) {
    names.Read("edges", &learned::ParseEdgeKind, recipe.edges);
  }
  recipe.terms = learned::ParseTermSet(object.value("terms", ""));
}

}  // namespace

std::string_view PriorSourceName(PriorSource source) {
  return NameIn(kPriorSourceNames, source);
}

std::optional<PriorSource> ParsePriorSource(std::string_view name) {
  return FindIn<PriorSource>(kPriorSourceNames, name);
}

std::vector<learned::Target> SampleRequest::Targets() const {
  std::vector<learned::Target> wanted;
  for (const learned::Target target : learned::kAllTargets) {
    if (targets.empty() || std::ranges::count(targets, target) > 0) {
      wanted.push_back(target);
    }
  }
  return wanted;
}

void FollowTerms(std::optional<learned::TermSet> terms,
                 SampleRequest& request) {
  request.recipe.terms = terms;
  if (!terms) return;
  if (request.targets.empty()) {
    request.targets = {learned::LayoutOf(*terms).target};
  }
  if (terms == learned::TermSet::kKernels) request.device_columns = true;
}

void FollowCheckpoint(const learned::CheckpointInfo& info,
                      SampleRequest& request) {
  request.targets.clear();
  for (const learned::CheckpointTarget& target : info.targets) {
    request.targets.push_back(target.scale.target);
  }
  request.recipe = info.recipe;
  const std::optional<PriorSource> known = ParsePriorSource(info.recipe.prior);
  const bool keeps_labels =
      request.prior == PriorSource::kLabels && !info.recipe.prior.empty();
  if (!keeps_labels) request.prior = known.value_or(PriorSource::kNone);
}

nlohmann::json SampleRequestToJson(const SampleRequest& request) {
  const learned::InputRecipe& recipe = request.recipe;
  const std::vector<learned::Target> targets =
      request.targets.empty() ? request.Targets() : request.targets;
  return {{"dataset", request.dataset},
          {"split", request.split},
          {"devices", request.devices},
          {"targets", NamesOf(targets, &learned::TargetName)},
          {"provenances", NamesOf(request.provenances, &ProvenanceName)},
          {"sources", request.sources},
          {"simulated_weight", request.simulated_weight},
          {"prior", PriorSourceName(request.prior)},
          {"device_columns", request.device_columns},
          {"prior_columns", request.prior_columns},
          {"node_costs", recipe.node_costs},
          {"terms", recipe.terms ? TermSetName(*recipe.terms) : ""},
          {"environment_keys", request.setting_keys},
          {"edges", EdgeKindName(recipe.edges)},
          {"device_files", request.device_files},
          {"environment", recipe.context},
          {"host", HostName(recipe.host)}};
}

void ReadSampleRequest(const std::string& json, const std::string& origin,
                       SampleRequest& request) {
  try {
    const nlohmann::json object = ParseJson(json, origin);
    const NameReader names(object, origin);
    ReadLabels(object, names, request);
    ReadInputs(object, names, request);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: {}", origin, error.what()));
  }
}

}  // namespace foretell::training
