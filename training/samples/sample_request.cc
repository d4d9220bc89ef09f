#include "training/samples/sample_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/json_fields.h"
#include "src/core/name_table.h"
#include "src/features/terms.h"

namespace foretell::training {
namespace {

constexpr NameTable<3> kPriorSourceNames = {"none", "analytic", "labels"};

/// Values of an enumeration as a list of their names.
template <typename Value>
void DescribeNames(JsonFields& fields, const std::string& key,
                   std::vector<Value>& values,
                   std::string_view (*name_of)(Value),
                   std::optional<Value> (*parse)(std::string_view)) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  fields.Value(key, names);
  values.clear();
  for (const std::string& name : names) {
    const std::optional<Value> value = parse(name);
    fields.Require(value.has_value(), key,
                   fmt::format("contains '{}', which is unknown", name));
    values.push_back(*value);
  }
}

/// The name of the terms; empty or absent (in runs older than them): none.
void DescribeTerms(JsonFields& fields, std::optional<learned::TermSet>& terms) {
  std::string name(terms ? TermSetName(*terms) : "");
  fields.Optional("terms", name);
  terms = learned::ParseTermSet(name);
  fields.Require(terms || name.empty(), "terms",
                 fmt::format("is '{}', which is unknown", name));
}

void DescribeRequest(JsonFields& fields, SampleRequest& request) {
  learned::InputRecipe& recipe = request.recipe;
  fields.Value("dataset", request.dataset);
  fields.Value("split", request.split);
  fields.Value("devices", request.devices);
  DescribeNames(fields, "targets", request.targets, &learned::TargetName,
                &learned::ParseTarget);
  DescribeNames(fields, "provenances", request.provenances, &ProvenanceName,
                &ParseProvenance);
  fields.Value("sources", request.sources);
  fields.Value("simulated_weight", request.simulated_weight);
  // Absent in runs older than the option.
  fields.Optional("source_balance", request.source_balance);
  fields.Named("prior", request.prior, kPriorSourceNames);
  fields.Value("device_columns", request.device_columns);
  fields.Value("prior_columns", request.prior_columns);
  fields.Value("node_costs", recipe.node_costs);
  DescribeTerms(fields, recipe.terms);
  fields.Value("environment_keys", request.setting_keys);
  // Absent in runs older than the option.
  if (fields.IsGiven("edges")) {
    fields.Named("edges", recipe.edges, &learned::EdgeKindName,
                 &learned::ParseEdgeKind);
  }
  fields.Value("device_files", request.device_files);
  fields.Value("environment", recipe.context);
  fields.Named("host", recipe.host, &HostName, &ParseHost);
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
  SampleRequest written = request;
  if (written.targets.empty()) written.targets = request.Targets();
  return WriteFields(std::move(written), &DescribeRequest);
}

void ReadSampleRequest(const std::string& json, const std::string& origin,
                       SampleRequest& request) {
  const nlohmann::json document = ParseJson(json, origin);
  auto read = ReadFields<SampleRequest>(
      JsonObject(document, origin, "", UnknownFields::kIgnored),
      &DescribeRequest);
  if (!request.dataset.empty()) read.dataset = request.dataset;
  read.cache_mib = request.cache_mib;
  read.threads = request.threads;
  request = std::move(read);
}

}  // namespace foretell::training
