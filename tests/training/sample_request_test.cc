#include "training/samples/sample_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/datasets/expect_error.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::Target;
using learned::TermSet;

/// A default request as run.json has it, with another value for one field.
nlohmann::json WithField(const char* key, const nlohmann::json& value) {
  nlohmann::json json = SampleRequestToJson({.dataset = "d.sqlite"});
  json[key] = value;
  return json;
}

SampleRequest ReadBack(const nlohmann::json& json) {
  SampleRequest request;
  ReadSampleRequest(json.dump(), "run.json", request);
  return request;
}

TEST(SampleRequest, WantsAllTargetsUnlessSomeAreNamed) {
  EXPECT_EQ(SampleRequest{}.Targets(),
            (std::vector<Target>{Target::kMemory, Target::kLatency,
                                 Target::kEnergy}));
  const SampleRequest request{
      .targets = {Target::kEnergy, Target::kMemory, Target::kEnergy}};
  EXPECT_EQ(request.Targets(),
            (std::vector<Target>{Target::kMemory, Target::kEnergy}));
}

TEST(SampleRequest, FollowsTheFigureThatTermsAddUpTo) {
  const auto followed = [](std::optional<TermSet> terms) {
    SampleRequest request;
    FollowTerms(terms, request);
    EXPECT_EQ(request.recipe.terms, terms);
    return request;
  };
  EXPECT_TRUE(followed(std::nullopt).targets.empty());
  EXPECT_EQ(followed(TermSet::kReplay).targets,
            std::vector<Target>{Target::kMemory});
  for (const TermSet kernels :
       {TermSet::kKernels, TermSet::kPortableKernels, TermSet::kKernelGraph,
        TermSet::kStepKernels, TermSet::kRawKernels}) {
    EXPECT_EQ(followed(kernels).targets, std::vector<Target>{Target::kLatency});
  }
}

TEST(SampleRequest, ShowsTheDeviceToKernelsOfKnownDevicesOnly) {
  for (const TermSet terms : {TermSet::kKernels, TermSet::kPortableKernels,
                              TermSet::kReplay, TermSet::kKernelGraph}) {
    SampleRequest request;
    FollowTerms(terms, request);
    EXPECT_EQ(request.device_columns, terms == TermSet::kKernels);
    request.device_columns = true;
    FollowTerms(terms, request);
    EXPECT_TRUE(request.device_columns);
  }
}

TEST(SampleRequest, KeepsTargetsThatAreNamedWhateverTheTerms) {
  // FitInfo then says that the network cannot have them.
  SampleRequest request{.targets = {Target::kEnergy}};
  FollowTerms(TermSet::kKernels, request);
  EXPECT_EQ(request.targets, std::vector<Target>{Target::kEnergy});
}

learned::CheckpointInfo EnergyOverPrior(const std::string& prior) {
  learned::CheckpointInfo info;
  info.targets = {{.scale = {.target = Target::kEnergy}}};
  info.recipe = {.edges = learned::EdgeKind::kChain,
                 .node_costs = true,
                 .prior = prior,
                 .context = "some context"};
  return info;
}

TEST(SampleRequest, FollowsACheckpoint) {
  SampleRequest request{.dataset = "d.sqlite", .targets = {Target::kMemory}};
  const learned::CheckpointInfo info = EnergyOverPrior("analytic");
  FollowCheckpoint(info, request);
  EXPECT_EQ(request.dataset, "d.sqlite");
  EXPECT_EQ(request.targets, std::vector<Target>{Target::kEnergy});
  EXPECT_EQ(request.prior, PriorSource::kAnalytic);
  EXPECT_EQ(request.recipe, info.recipe);
}

TEST(SampleRequest, KeepsAPriorFromLabelsWhereTheCheckpointHasOne) {
  SampleRequest request{.prior = PriorSource::kLabels};
  FollowCheckpoint(EnergyOverPrior("analytic"), request);
  EXPECT_EQ(request.prior, PriorSource::kLabels);
  FollowCheckpoint(EnergyOverPrior(""), request);
  EXPECT_EQ(request.prior, PriorSource::kNone);
}

TEST(SampleRequest, IsWrittenAsRunsOfEarlierVersionsHaveIt) {
  EXPECT_EQ(SampleRequestToJson({.dataset = "d.sqlite"}),
            nlohmann::json::parse(R"({
      "dataset": "d.sqlite", "split": "configuration", "devices": [],
      "targets": ["memory", "latency", "energy"], "provenances": [],
      "sources": [], "simulated_weight": 1.0, "source_balance": 0.0,
      "prior": "none",
      "device_columns": false, "prior_columns": false, "node_costs": false,
      "terms": "", "environment_keys": [], "edges": "data-flow",
      "device_files": [], "environment": "", "host": "python"})"));
}

TEST(SampleRequest, ComesBackFromJson) {
  const SampleRequest request{
      .dataset = "d.sqlite",
      .split = "mine",
      .devices = {"a", "b"},
      .targets = {Target::kEnergy, Target::kMemory},
      .provenances = {Provenance::kSimulated, Provenance::kMeasured},
      .sources = {"here"},
      .simulated_weight = 0.25,
      .source_balance = 0.5,
      .prior = PriorSource::kLabels,
      .device_columns = true,
      .prior_columns = true,
      .setting_keys = {"clock"},
      .recipe = {.terms = TermSet::kReplay,
                 .edges = learned::EdgeKind::kChain,
                 .node_costs = true,
                 .context = "ctx",
                 .host = Host::kCpp},
      .device_files = {"mine.json"}};
  const SampleRequest read = ReadBack(SampleRequestToJson(request));
  EXPECT_EQ(SampleRequestToJson(read), SampleRequestToJson(request));
  EXPECT_EQ(read.targets, request.targets);
  EXPECT_EQ(read.provenances, request.provenances);
  EXPECT_EQ(read.recipe, request.recipe);
}

TEST(SampleRequest, LeavesToAResumedRunWhereItsFilesAreAndWhatItMayUse) {
  SampleRequest request{.dataset = "moved.sqlite",
                        .devices = {"another"},
                        .cache_mib = 7,
                        .threads = 3};
  ReadSampleRequest(SampleRequestToJson({.dataset = "d.sqlite"}).dump(),
                    "run.json", request);
  EXPECT_EQ(request.dataset, "moved.sqlite");
  EXPECT_TRUE(request.devices.empty());
  EXPECT_EQ(request.cache_mib, 7);
  EXPECT_EQ(request.threads, 3);
}

TEST(SampleRequest, ReadsRunsThatAreOlderThanTermsAndEdges) {
  nlohmann::json json = SampleRequestToJson({.dataset = "d.sqlite"});
  json.erase("edges");
  json.erase("terms");
  const SampleRequest read = ReadBack(json);
  EXPECT_EQ(read.recipe.edges, learned::EdgeKind::kDataFlow);
  EXPECT_EQ(read.recipe.terms, std::nullopt);
}

TEST(SampleRequest, NamesFileFieldAndValueThatMakeNoSense) {
  const auto expect = [](const nlohmann::json& json, const std::string& part) {
    ExpectError(ErrorCode::kCorrupt, part, [&] { ReadBack(json); });
  };
  expect(WithField("host", "cobol"), "run.json: host is 'cobol'");
  expect(WithField("prior", "half"), "run.json: prior is 'half'");
  expect(WithField("edges", "some"), "run.json: edges is 'some'");
  expect(WithField("targets", {"memory", "noise"}),
         "run.json: targets contains 'noise', which is unknown");
  expect(WithField("provenances", {"guessed"}),
         "run.json: provenances contains 'guessed', which is unknown");
  expect(WithField("devices", 3), "run.json: devices is 3, expected an array");
  expect(WithField("terms", "some"),
         "run.json: terms is 'some', which is unknown");
  nlohmann::json without = WithField("prior", "none");
  without.erase("split");
  expect(without, "run.json: split is missing");
  SampleRequest request;
  ExpectError(ErrorCode::kCorrupt, "run.json: ", [&] {
    ReadSampleRequest("{\"data", "run.json", request);
  });
}

}  // namespace
}  // namespace foretell::training
