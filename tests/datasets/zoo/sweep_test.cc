#include "datasets/zoo/sweep.h"

#include <map>
#include <set>

#include "tests/graph/expect_error.h"

namespace foretell::zoo {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

/// A sweep with one family and these blocks.
std::string Sweep(const std::string& count, const std::string& blocks) {
  return R"({"families": [{"family": "vgg", "count": )" + count +
         R"(, "blocks": [)" + blocks + "]}]}";
}

std::vector<SweepPoint> Parse(const std::string& count,
                              const std::string& blocks) {
  return ParseSweep(Sweep(count, blocks), "test.json");
}

TEST(CountFamilies, CountsEveryRunOfAFamily) {
  const std::vector<SweepPoint> points = {{.family = "a", .model = "a1"},
                                          {.family = "a", .model = "a2"},
                                          {.family = "b", .model = "b1"},
                                          {.family = "a", .model = "a1"}};
  EXPECT_THAT(CountFamilies(points),
              testing::ElementsAre(testing::Pair("a", 2), testing::Pair("b", 1),
                                   testing::Pair("a", 1)));
  EXPECT_TRUE(CountFamilies({}).empty());
}

TEST(Sweep, IsTheProductOfItsListsTheLastVaryingFastest) {
  const std::vector<SweepPoint> points =
      Parse("8", R"({"models": ["vgg11", "vgg13?hidden=64"],
                     "fields": {"image_size": [64, 224]}, "batch": [1, 2]})");
  EXPECT_THAT(
      points,
      ElementsAre(SweepPoint{"vgg", "vgg11?image_size=64", 1},
                  SweepPoint{"vgg", "vgg11?image_size=64", 2},
                  SweepPoint{"vgg", "vgg11", 1}, SweepPoint{"vgg", "vgg11", 2},
                  SweepPoint{"vgg", "vgg13?hidden=64&image_size=64", 1},
                  SweepPoint{"vgg", "vgg13?hidden=64&image_size=64", 2},
                  SweepPoint{"vgg", "vgg13?hidden=64", 1},
                  SweepPoint{"vgg", "vgg13?hidden=64", 2}));
}

TEST(Sweep, ListsEqualPointsOnce) {
  EXPECT_EQ(Parse("1", R"({"models": ["vgg11"], "batch": [4]},
                          {"models": ["vgg11?classes=1000"], "batch": [4]})")
                .size(),
            1u);
}

TEST(Sweep, ReadsListsAsValues) {
  EXPECT_THAT(Parse("1", R"({"models": ["vgg11"], "batch": [1],
                             "fields": {"layers": [[1, 2]]}})"),
              ElementsAre(SweepPoint{"vgg", "vgg11?layers=1,2", 1}));
}

/// 10 sizes × 100 batches, of which half are taken.
std::vector<SweepPoint> HalfOfAThousand() {
  std::string sizes;
  std::string batches;
  for (int i = 0; i < 10; ++i) {
    if (i > 0) sizes += ",";
    sizes += std::to_string(64 + 16 * i);
  }
  for (int i = 1; i <= 100; ++i) {
    if (i > 1) batches += ",";
    batches += std::to_string(i);
  }
  return Parse(
      "500",
      R"({"models": ["vgg11"], "take": 500, "fields": {"image_size": [)" +
          sizes + R"(]}, "batch": [)" + batches + "]}");
}

TEST(Sweep, TakesTheSamePointsEachTime) {
  EXPECT_EQ(HalfOfAThousand(), HalfOfAThousand());
}

TEST(Sweep, TakesEvenlyAndKeepsTheOrder) {
  std::map<std::string, int> per_size;
  std::map<std::int64_t, int> per_decade;
  std::string last_model;
  std::int64_t last_batch = 0;
  for (const SweepPoint& point : HalfOfAThousand()) {
    ++per_size[point.model];
    ++per_decade[(point.batch - 1) / 10];
    if (point.model == last_model) {
      EXPECT_GT(point.batch, last_batch);
    }
    last_model = point.model;
    last_batch = point.batch;
  }
  ASSERT_EQ(per_size.size(), 10u);
  // 50 of 100 expected; five standard deviations of a fair draw are 25.
  for (const auto& [model, count] : per_size) EXPECT_NEAR(count, 50, 25);
  for (const auto& [decade, count] : per_decade) EXPECT_NEAR(count, 50, 25);
}

struct BadSweep {
  std::string json;
  const char* message;
};

TEST(Sweep, RefusesImpossibleOnesWithTheirPlace) {
  const std::string block = R"({"models": ["vgg11"], "batch": [1, 2]})";
  const BadSweep bad_sweeps[] = {
      {"{", "test.json"},
      {"{}", "test.json: no member 'families'"},
      {Sweep("3", block), "family vgg: has 2 points, its count says 3"},
      {Sweep("1", R"({"models": ["vgg12"], "batch": [1]})"),
       "family vgg, block 1: zoo:vgg12: no such network"},
      {Sweep("1", R"({"models": ["resnet18"], "batch": [1]})"),
       "resnet18 is of family resnet, expected vgg"},
      {Sweep("1", R"({"models": ["vgg11"], "batch": []})"),
       "block 1, batch: expected a list with elements"},
      {Sweep("1", R"({"models": ["vgg11"], "batch": [0]})"),
       "expected positive integers, found 0"},
      {Sweep("1", R"({"models": ["vgg11"]})"), "block 1: no member 'batch'"},
      {Sweep("1", R"({"models": ["vgg11"], "batch": [1], "take": 2})"),
       "takes 2 of 1 point"},
      {Sweep("1", R"({"models": ["vgg11"], "batch": [1],
                      "fields": {"size": [1]}})"),
       "no field 'size'"},
  };
  for (const BadSweep& bad : bad_sweeps) {
    SCOPED_TRACE(bad.message);
    ExpectError([&] { ParseSweep(bad.json, "test.json"); }, ErrorCode::kCorrupt,
                bad.message);
  }
}

TEST(Sweep, ListsWhatIsInstalled) {
  EXPECT_THAT(SweepNames(), IsSupersetOf({"dippm", "extended_cnn", "weather"}));
  ExpectError([] { ListSweep("dipm"); }, ErrorCode::kNotFound,
              "no sweep 'dipm', there are: dippm");
}

std::map<std::string, int> CountFamilies(std::string_view sweep) {
  std::map<std::string, int> counts;
  for (const SweepPoint& point : ListSweep(sweep)) ++counts[point.family];
  return counts;
}

TEST(Sweep, DippmHasThePapersCounts) {
  const std::map<std::string, int> counts = CountFamilies("dippm");
  const std::pair<const char*, int> expected[] = {
      {"efficientnet", 1729}, {"mnasnet", 1001}, {"mobilenet", 1591},
      {"resnet", 1152},       {"vgg", 1536},     {"swin", 547},
      {"vit", 520},           {"densenet", 768}, {"visformer", 768},
      {"poolformer", 896},
  };
  EXPECT_EQ(counts.size(), std::size(expected));
  for (const auto& [family, count] : expected) {
    ASSERT_TRUE(counts.contains(family)) << family;
    EXPECT_EQ(counts.at(family), count) << family;
  }
}

TEST(Sweep, WeatherHasTheFourNetworksOneByOne) {
  std::set<std::string> models;
  for (const SweepPoint& point : ListSweep("weather")) {
    EXPECT_EQ(point.batch, 1);
    models.insert(point.model);
  }
  EXPECT_THAT(models, ElementsAre("weather_cnn", "weather_downscaling",
                                  "weather_radiation_rnn", "weather_unet"));
}

TEST(Sweep, InstalledPointsAreUniqueAndCanonical) {
  for (const std::string& sweep : SweepNames()) {
    std::set<std::pair<std::string, std::int64_t>> seen;
    for (const SweepPoint& point : ListSweep(sweep)) {
      EXPECT_TRUE(seen.emplace(point.model, point.batch).second)
          << sweep << ": " << point.model;
    }
    EXPECT_FALSE(seen.empty()) << sweep;
  }
}

}  // namespace
}  // namespace foretell::zoo
