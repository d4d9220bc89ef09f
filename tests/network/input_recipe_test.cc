#include "src/features/input_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/network/checkpoint_json.h"
#include "tests/datasets/expect_error.h"

namespace foretell::learned {
namespace {

using dataset_test::ExpectError;
using testing::ElementsAre;

InputColumn Column(const char* text) {
  return {.key = ParseColumnKey(text), .offset = 1, .scale = 2};
}

TEST(InputRecipe, NamesEverySettingOnce) {
  const InputRecipe recipe{.columns = {Column("macs"),
                                       Column("environment.torch=2.1"),
                                       Column("environment.torch=2.4"),
                                       Column("environment.driver=580")}};
  EXPECT_THAT(recipe.SettingKeys(), ElementsAre("torch", "driver"));
}

/// A network over operators with all that such a recipe can ask for.
CheckpointInfo RichInfo() {
  CheckpointInfo info{.feature_version = kFeatureVersion};
  info.targets = {{.scale = {.target = Target::kLatency}}};
  info.recipe = {
      .edges = EdgeKind::kChain,
      .node_costs = true,
      .columns = {Column("macs"), Column("device.sms"),
                  Column("prior.latency_ms"), Column("prior:compute_ms"),
                  Column("environment.torch=2.4")},
      .prior = "analytic",
      .context = "cuda12-lazy",
      .host = Host::kCpp};
  info.network = {.kind = {LayerKind::kPmgns},
                  .node_features = kNumNodeFeatures + 8,
                  .static_features = 5,
                  .outputs = 1};
  info.environment = {{"libtorch", "2"}};
  return info;
}

TEST(InputRecipe, IsKeptInACheckpoint) {
  const CheckpointInfo info = RichInfo();
  const CheckpointInfo read = InfoFromJson(InfoToJson(info), "x");
  EXPECT_EQ(read.recipe, info.recipe);
  CheckpointInfo other = info;
  other.recipe.restore_folded_norms = false;
  EXPECT_EQ(InfoFromJson(InfoToJson(other), "x").recipe, other.recipe);
}

TEST(CheckpointJson, ComesBackWithEveryField) {
  CheckpointInfo info = RichInfo();
  info.foretell_version = "1.2";
  info.targets[0].interval = ResidualInterval{-0.5, 0.25, 0.9, 40};
  info.targets[0].validation_mape = 0.125;
  info.devices = {"a", "b"};
  info.sources = {"here"};
  info.provenance = {{"measured", 3}};
  info.epochs = 7;
  info.far_distance = 2.5;
  const nlohmann::json json = InfoToJson(info);
  EXPECT_EQ(InfoToJson(InfoFromJson(json, "x")), json);
  EXPECT_EQ(json["targets"][0]["unit"], "ms");
  const nlohmann::json poor = InfoToJson(RichInfo());
  EXPECT_TRUE(poor["targets"][0]["interval"].is_null());
  EXPECT_EQ(InfoToJson(InfoFromJson(poor, "x")), poor);
}

TEST(CheckpointJson, IgnoresFieldsOfNewerVersions) {
  nlohmann::json json = InfoToJson(RichInfo());
  json["targets"][0]["color"] = "blue";
  json["network"]["color"] = "blue";
  EXPECT_NO_THROW(InfoFromJson(json, "x"));
}

TEST(InputRecipe, IsPutTogetherFromSchema1) {
  const CheckpointInfo info = RichInfo();
  nlohmann::json old = InfoToJson(info);
  old["schema_version"] = 1;
  old.erase("recipe");
  old["inputs"] = nlohmann::json::array();
  for (const InputColumn& column : info.recipe.columns) {
    old["inputs"].push_back(
        {{"name", ToString(column.key)}, {"offset", 1}, {"scale", 2}});
  }
  old["prior"] = "analytic";
  old["environment"].update({{"edges", "chain"},
                             {"prior_host", "cpp"},
                             {"prior_environment", "cuda12-lazy"}});
  const CheckpointInfo read = InfoFromJson(old, "x");
  EXPECT_EQ(read.recipe, info.recipe);
  EXPECT_EQ(read.environment, info.environment);
  old["environment"]["prior_host"] = "fortran";
  ExpectError(ErrorCode::kCorrupt, "prior_host is 'fortran'",
              [&] { InfoFromJson(old, "x"); });
}

TEST(InputRecipe, OfTermsIsThatOfTheNetwork) {
  CheckpointInfo info = RichInfo();
  info.recipe.terms = TermSet::kKernels;
  ExpectError(ErrorCode::kCorrupt, "network 'pmgns' does not see",
              [&] { InfoFromJson(InfoToJson(info), "x"); });
}

TEST(InputRecipe, OfFormerTermsIsRefused) {
  CheckpointInfo info = RichInfo();
  info.recipe.terms = TermSet::kKernels;
  nlohmann::json json = InfoToJson(info);
  json["recipe"].erase("terms_version");
  ExpectError(ErrorCode::kUnsupported,
              "x: learned from version 1 of 'kernels', this foretell makes "
              "version 4: train it again",
              [&] { InfoFromJson(json, "x"); });
}

TEST(InputRecipe, NamesWhatIsWrongInAColumn) {
  nlohmann::json json = InfoToJson(RichInfo());
  json["recipe"]["columns"][4].erase("value");
  ExpectError(ErrorCode::kCorrupt, "x: recipe.columns[4].value is missing",
              [&] { InfoFromJson(json, "x"); });
  json["recipe"]["columns"][4]["source"] = "weather";
  ExpectError(ErrorCode::kCorrupt, "x: recipe.columns[4].source is 'weather'",
              [&] { InfoFromJson(json, "x"); });
}

}  // namespace
}  // namespace foretell::learned
