#include "src/model/input_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"

namespace foretell::model {
namespace {

using testing::ElementsAre;

TEST(InputRecipe, IsReadBackFromACheckpoint) {
  CheckpointInfo info{.prior = "analytic"};
  NoteRecipe({.chain = true, .context = "cuda12-lazy", .host = Host::kCpp},
             info);
  const InputRecipe recipe = RecipeOf(info);
  EXPECT_TRUE(recipe.chain);
  EXPECT_EQ(recipe.context, "cuda12-lazy");
  EXPECT_EQ(recipe.host, Host::kCpp);
}

TEST(InputRecipe, NotesTheHostOfCostsWithoutAPrior) {
  CheckpointInfo info;
  info.network.node_features = kNumNodeFeatures + 8;
  NoteRecipe({.host = Host::kCpp}, info);
  EXPECT_EQ(RecipeOf(info).host, Host::kCpp);
}

TEST(InputRecipe, LeavesWhatIsNotStatedToTheCaller) {
  const InputRecipe recipe =
      RecipeOf({}, {.chain = true, .context = "mine", .host = Host::kCpp});
  EXPECT_TRUE(recipe.chain);
  EXPECT_EQ(recipe.context, "mine");
  EXPECT_EQ(recipe.host, Host::kCpp);
}

TEST(InputRecipe, NamesEverySettingOnce) {
  CheckpointInfo info;
  for (const char* name : {"macs", "environment.torch=2.1",
                           "environment.torch=2.4", "environment.driver=580"}) {
    info.inputs.push_back({.name = name});
  }
  EXPECT_THAT(RecipeOf(info).setting_keys, ElementsAre("torch", "driver"));
}

TEST(InputRecipe, RefusesAHostThatIsNone) {
  CheckpointInfo info;
  info.environment["prior_host"] = "fortran";
  EXPECT_THROW(RecipeOf(info), Error);
}

}  // namespace
}  // namespace foretell::model
