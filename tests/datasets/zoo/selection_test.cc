#include "datasets/zoo/selection.h"

#include <set>

#include "foretell/zoo.h"
#include "tests/graph/expect_error.h"

namespace foretell::zoo {
namespace {

using testing::HasSubstr;

TEST(Selection, WritesChangedFieldsInDeclaredOrder) {
  EXPECT_EQ(Select("zoo:resnet18?classes=10&image_size=64").canonical_name,
            "resnet18?image_size=64&classes=10");
}

TEST(Selection, LeavesOutFieldsThatAreAtTheStockValue) {
  EXPECT_EQ(Select("resnet50?image_size=224&layers=3,4,6,3").canonical_name,
            "resnet50");
  EXPECT_EQ(Select("mnasnet1_3?width_multiplier=1.30").canonical_name,
            "mnasnet1_3");
}

TEST(Selection, RefusesTwoChangesToOneField) {
  ExpectError([] { Select("vgg11?classes=10&classes=20"); },
              ErrorCode::kInvalidArgument,
              "zoo:vgg11?classes=10&classes=20: classes=10 and classes=20");
}

TEST(Selection, KnowsFamiliesBesideStockNetworks) {
  const Selection selection = Select("mobilenet?version=v3_small");
  EXPECT_EQ(selection.family->name, "mobilenet");
  EXPECT_EQ(selection.canonical_name, "mobilenet?version=v3_small");
}

TEST(Selection, NamesTheNearestNetworks) {
  ExpectError([] { Select("zoo:resnet51"); }, ErrorCode::kNotFound,
              "zoo:resnet51: no such network; near: resnet50");
  ExpectError([] { Select("denset121"); }, ErrorCode::kNotFound,
              "near: densenet121");
}

TEST(Selection, TakesTheBeginningOfANameForItsAbbreviation) {
  ExpectError([] { Select("swin_t"); }, ErrorCode::kNotFound,
              "near: swin_tiny");
}

TEST(Selection, ListsTheFieldsThereAreForAnUnknownOne) {
  ExpectError([] { Select("vgg16?resolution=64"); },
              ErrorCode::kInvalidArgument,
              "zoo:vgg16?resolution=64: no field 'resolution', there are: "
              "layers, batch_norm, width");
}

TEST(Selection, NamesTheNetworkOfABadValue) {
  ExpectError([] { Select("vgg16?image_size=big"); },
              ErrorCode::kInvalidArgument,
              "zoo:vgg16?image_size=big: image_size=big: expected integers");
}

TEST(Selection, StockNamesAreUniqueAndCanonical) {
  std::set<std::string> seen;
  for (const std::string& name : Names()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(Select(name).canonical_name, name);
  }
}

TEST(Load, RefusesConfigurationsWithoutNetwork) {
  const std::pair<const char*, const char*> cases[] = {
      {"resnet18?groups=2", "need block=bottleneck"},
      {"vgg11?image_size=16", "image_size=16: too small for 5 stages"},
      {"inception_v3?image_size=74", "expected at least 75"},
      {"mobilenet_v2?version=v4", "version=v4: expected v2"},
      {"mnasnet?width_multiplier=0", "width_multiplier"},
      {"regnet_x_400mf?initial_width=20", "expected a multiple of 8"},
      {"unet?image_size=100", "size 100 cannot be halved 4 times"},
      {"unet3d?depth=13&edge=8192", "depth=13: expected at most 12"},
      {"weather_unet?encoder_layers=2,2", "expected 5 numbers, found 2"},
      {"weather_radiation_rnn?cell=rwkv", "cell=rwkv: expected lstm or gru"},
      {"convnext_tiny?stochastic_depth=2", "expected a probability"},
      {"resnet18?width=0", "cannot have"},
  };
  for (const auto& [name, message] : cases) {
    SCOPED_TRACE(name);
    ExpectError([name = name] { Load(name); }, ErrorCode::kInvalidArgument,
                message);
  }
}

TEST(Load, SaysWhatTheProgramIsAndReads) {
  const Program program = Load("unet3d?edge=64");
  EXPECT_EQ(program.name(), "zoo:unet3d?edge=64");
  EXPECT_EQ(program.format(), "zoo");
  ASSERT_EQ(program.inputs().size(), 1u);
  const std::vector<InputDim>& dims = *program.inputs()[0].dims;
  ASSERT_EQ(dims.size(), 5u);
  EXPECT_EQ(dims[0].symbol, "batch");
  EXPECT_EQ(dims[1].value, 3);
  EXPECT_EQ(dims[4].value, 64);
}

TEST(Describe, GivesEveryFieldOfTheFamily) {
  const Description description = Describe("mnasnet0_5?classes=10");
  EXPECT_EQ(description.family, "mnasnet");
  EXPECT_THAT(description.json, HasSubstr("\"width_multiplier\": 0.5"));
  EXPECT_THAT(description.json, HasSubstr("\"classes\": 10"));
  EXPECT_THAT(description.json, HasSubstr("\"image_size\": 224"));
}

}  // namespace
}  // namespace foretell::zoo
