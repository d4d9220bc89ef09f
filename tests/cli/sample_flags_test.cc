#include "cli/flags/sample_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace foretell::cli {
namespace {

using learned::Target;
using training::PriorSource;
using training::SampleRequest;
using training::SampleRequestToJson;

SampleRequest Requested(const std::string& arguments) {
  CLI::App app;
  SampleRequest request;
  AddLabelFlags(app, request);
  AddInputFlags(app, request);
  app.parse(arguments);
  return request;
}

TEST(SampleFlags, LeaveTheRequestAsItIsWhereNothingIsGiven) {
  EXPECT_EQ(SampleRequestToJson(Requested("")), SampleRequestToJson({}));
  const SampleRequest request = Requested("");
  EXPECT_TRUE(request.targets.empty());
  EXPECT_EQ(request.cache_mib, 1024);
  EXPECT_EQ(request.threads, 0);
}

TEST(SampleFlags, SetAFieldEach) {
  const SampleRequest expected{
      .dataset = "d.sqlite",
      .split = "mine",
      .devices = {"a", "b"},
      .targets = {Target::kEnergy, Target::kMemory},
      .provenances = {Provenance::kSimulated, Provenance::kImported},
      .sources = {"here", "there"},
      .simulated_weight = 0.25,
      .prior = PriorSource::kLabels,
      .device_columns = true,
      .prior_columns = true,
      .setting_keys = {"clock", "torch"},
      .recipe = {.edges = learned::EdgeKind::kChain,
                 .node_costs = true,
                 .context = "ctx",
                 .host = Host::kCpp},
      .device_files = {"mine.json"}};
  const SampleRequest request = Requested(
      "--dataset d.sqlite --split mine --device a,b --targets energy,memory "
      "--provenance simulated --provenance imported --source here,there "
      "--simulated-weight 0.25 --prior labels --device-features "
      "--prior-features --environment-features clock,torch --edges chain "
      "--node-costs --environment ctx --host cpp --device-file mine.json "
      "--cache-mib 5 --threads 2");
  EXPECT_EQ(SampleRequestToJson(request), SampleRequestToJson(expected));
  EXPECT_EQ(request.cache_mib, 5);
  EXPECT_EQ(request.threads, 2);
}

TEST(SampleFlags, RefuseNamesThatAreNone) {
  EXPECT_THROW(Requested("--targets memory,noise"), CLI::ValidationError);
  EXPECT_THROW(Requested("--provenance guessed"), CLI::ValidationError);
  EXPECT_THROW(Requested("--prior half"), CLI::ValidationError);
  EXPECT_THROW(Requested("--cache-mib -1"), CLI::ValidationError);
}

TEST(SampleFlags, LeaveToACheckpointWhatItDecides) {
  CLI::App app;
  SampleRequest request;
  AddLabelFlags(app, request);
  app.parse("--device all --environment ctx");
  EXPECT_EQ(request.devices, std::vector<std::string>{training::kAllDevices});
  EXPECT_EQ(request.recipe.context, "ctx");
  for (const char* flag : {"--targets energy", "--prior analytic",
                           "--device-features", "--node-costs"}) {
    EXPECT_THROW(app.parse(flag), CLI::ExtrasError) << flag;
  }
}

}  // namespace
}  // namespace foretell::cli
