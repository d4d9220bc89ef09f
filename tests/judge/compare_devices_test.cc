#include "foretell/compare_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/datasets/scratch.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const DeviceCatalog& Catalog() { return DeviceCatalog::BuiltIn(); }

class Prices : public testing::Test {
 protected:
  DevicePrices Read(const std::string& text) {
    std::ofstream(path_) << text;
    skipped_.clear();
    return ReadPrices(path_, Catalog(), skipped_);
  }
  std::string Refusal(const std::string& text) {
    try {
      Read(text);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  Scratch scratch_;
  std::string path_ = scratch_ / "prices.csv";
  std::vector<std::string> skipped_;
};

TEST_F(Prices, AreReadByNameOrAlias) {
  EXPECT_THAT(Read("device,usd_per_hour\na100,1.5\na30,0.25\n"),
              ElementsAre(Pair("a100-sxm4-40gb", 1.5), Pair("a30", 0.25)));
}

TEST_F(Prices, OfUnknownDevicesAreSkipped) {
  EXPECT_THAT(Read("device,usd_per_hour\nabacus,1\na30,0.25\n"),
              ElementsAre(Pair("a30", 0.25)));
  EXPECT_THAT(skipped_, ElementsAre(HasSubstr("prices.csv:2: abacus")));
}

TEST_F(Prices, AreNumbersAboveZeroOfKnownDevices) {
  EXPECT_THAT(Refusal("device,usd_per_hour\na100,free\n"),
              HasSubstr(":2: usd_per_hour is 'free', expected a number"));
  EXPECT_THAT(Refusal("device,usd_per_hour\na100,0\n"), HasSubstr("is '0'"));
  EXPECT_THAT(Refusal("device,usd_per_hour\na100,inf\n"),
              HasSubstr("is 'inf'"));
  EXPECT_THAT(Refusal("device,usd_per_hour\nabacus,1\n"),
              HasSubstr("has no price of a known device"));
  EXPECT_THAT(Refusal("device,usd_per_hour\na100,nan\n"),
              HasSubstr(":2: usd_per_hour is 'nan', expected a number"));
  EXPECT_THAT(Refusal("device,usd_per_hour\n"), HasSubstr("has no price"));
  EXPECT_THAT(Refusal("device,usd_per_hour\na100,1\na100-sxm4-40gb,2\n"),
              HasSubstr(":3: a100-sxm4-40gb has a price of 1 already"));
  EXPECT_THAT(
      Refusal("device,price\na100,1\n"),
      HasSubstr("no column 'usd_per_hour'; there are: 'device', 'price'"));
  EXPECT_THAT(Refusal("gpu,price\na100,1\n"),
              HasSubstr("no columns 'device', 'usd_per_hour'; there are: "
                        "'gpu', 'price'"));
}

Prediction TakingMs(double ms, double mib = 100) {
  Prediction prediction;
  prediction[Target::kMemory] = {.value = mib, .interval = {0, mib}};
  prediction[Target::kLatency] = {.value = ms, .interval = {ms, ms}};
  return prediction;
}

TEST(ChoiceOf, CountsTheTimeOfAThousandBatches) {
  const DeviceSpec& a100 = Catalog().FindDevice("a100");
  const DevicePrices prices = {{a100.name, 3.6}};
  // 1000 batches of 20 ms are 20 s, 1 / 180 of an hour.
  const DeviceChoice choice = ChoiceOf(TakingMs(20), a100, prices);
  EXPECT_DOUBLE_EQ(*choice.usd_per_thousand, 0.02);
  EXPECT_TRUE(choice.fits);
  EXPECT_FALSE(ChoiceOf(TakingMs(20), a100, {}).usd_per_thousand);
  EXPECT_FALSE(ChoiceOf(TakingMs(20, 40442), a100, prices).fits);
}

TEST(SortChoices, PutsFirstWhatFitsThenWhatIsCheap) {
  std::vector<DeviceChoice> choices = {
      {.device = "small", .latency_ms = 1, .usd_per_thousand = 0.1},
      {.device = "slow", .fits = true, .latency_ms = 9},
      {.device = "dear", .fits = true, .latency_ms = 2, .usd_per_thousand = 3},
      {.device = "fast", .fits = true, .latency_ms = 4},
      {.device = "cheap",
       .fits = true,
       .latency_ms = 5,
       .usd_per_thousand = 1}};
  SortChoices(choices);
  std::vector<std::string> names;
  for (const DeviceChoice& choice : choices) names.push_back(choice.device);
  EXPECT_THAT(names, ElementsAre("cheap", "dear", "fast", "slow", "small"));
}

}  // namespace
}  // namespace foretell
