#include "training/samples/open_samples.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/files.h"
#include "src/core/output_file.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/fit/run_folder.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::Target;

/// Eight points measured on an A100.
class OpenSamplesTest : public testing::Test {
 protected:
  OpenSamplesTest() { training_test::MakeToyDataset(path_); }

  /// Measures the first point on another device.
  void Measure(const std::string& device) {
    Label label{.point = 1, .device = device};
    label.source = "test";
    label.latency_ms = 1;
    Dataset::OpenForWriting(path_).PutLabel(label);
  }

  /// A file of the A100 under another name.
  std::string DeviceFile(const std::string& name) {
    nlohmann::json device = nlohmann::json::parse(
        ReadText(FORETELL_SOURCE_DIR "/data/devices/a100-sxm4-40gb.json"));
    device["name"] = device["display_name"] = name;
    device["aliases"] = nlohmann::json::array();
    WriteWhole(folder_ / "device.json", device.dump());
    return folder_ / "device.json";
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
};

TEST_F(OpenSamplesTest, TakesAllSamplesWithoutASplit) {
  const OpenedSamples opened =
      OpenSamples({.dataset = path_, .split = kNoSplit});
  EXPECT_EQ(opened.set.PartOf(Part::kTrain).size(), 8);
  EXPECT_EQ(OpenSamples({.dataset = path_}).set.PartOf(Part::kTrain).size(), 6);
  EXPECT_EQ(opened.store->Get({.graph = 1})->features.nodes.size(), 2);
}

TEST_F(OpenSamplesTest, WritesTheContextModelIntoTheRecipe) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const std::string usual = catalog.DefaultContext().name;
  const auto found = std::ranges::find_if(
      catalog.contexts(),
      [&](const ContextModel& context) { return context.name != usual; });
  ASSERT_NE(found, catalog.contexts().end());
  const std::string& other = found->name;
  EXPECT_EQ(OpenSamples({.dataset = path_}).set.recipe.context, usual);
  EXPECT_EQ(OpenSamples({.dataset = path_, .recipe = {.context = other}})
                .set.recipe.context,
            other);
  ExpectError(ErrorCode::kNotFound, "cuda 1", [&] {
    OpenSamples({.dataset = path_, .recipe = {.context = "cuda 1"}});
  });
}

TEST_F(OpenSamplesTest, TakesAllDevicesWhenAskedTo) {
  Measure("h100");
  ExpectError(ErrorCode::kInvalidArgument, "a100-sxm4-40gb, h100",
              [&] { OpenSamples({.dataset = path_}); });
  const OpenedSamples all =
      OpenSamples({.dataset = path_, .devices = {kAllDevices}});
  EXPECT_EQ(all.set.samples.size(), 9);
  EXPECT_EQ(all.OnlyDevice(), nullptr);
  EXPECT_EQ(
      OpenSamples({.dataset = path_, .devices = {"h100"}}).set.samples.size(),
      1);
}

TEST_F(OpenSamplesTest, KnowsDevicesOfFiles) {
  Measure("my-gpu");
  const SampleRequest request{.dataset = path_, .devices = {"my-gpu"}};
  EXPECT_EQ(OpenSamples(request).OnlyDevice(), nullptr);
  SampleRequest with_file = request;
  with_file.device_files = {DeviceFile("my-gpu")};
  const OpenedSamples opened = OpenSamples(with_file);
  ASSERT_NE(opened.OnlyDevice(), nullptr);
  EXPECT_EQ(opened.OnlyDevice()->sms, 108);
  with_file.device_files = {folder_ / "none.json"};
  ExpectError(ErrorCode::kNotFound, "none.json",
              [&] { OpenSamples(with_file); });
}

TEST_F(OpenSamplesTest, EstimatesTheAnalyticPrior) {
  const OpenedSamples opened =
      OpenSamples({.dataset = path_, .prior = PriorSource::kAnalytic});
  EXPECT_EQ(opened.set.recipe.prior, "analytic");
  for (const Sample& sample : opened.set.samples) {
    EXPECT_GT(ValueOf(sample.prior, Target::kMemory), 0);
    EXPECT_GT(ValueOf(sample.prior, Target::kLatency), 0);
  }
  EXPECT_EQ(OpenSamples({.dataset = path_}).set.recipe.prior, "");
}

TEST_F(OpenSamplesTest, KeepsDevicesWhereTheyAreWhenMoved) {
  OpenedSamples opened =
      OpenSamples({.dataset = path_, .recipe = {.node_costs = true}});
  const OpenedSamples moved = std::move(opened);
  EXPECT_EQ(moved.set.specs.front(), moved.OnlyDevice());
  EXPECT_EQ(moved.OnlyDevice()->name, "a100-sxm4-40gb");
}

TEST_F(OpenSamplesTest, SetsThreadsWhereTheRequestSaysHowMany) {
  const int before = at::get_num_threads();
  OpenSamples({.dataset = path_, .threads = 0});
  EXPECT_EQ(at::get_num_threads(), before);
  OpenSamples({.dataset = path_, .threads = before + 1});
  EXPECT_EQ(at::get_num_threads(), before + 1);
  at::set_num_threads(before);
}

TEST(SelectionText, NamesSplitAndPart) {
  EXPECT_EQ(SelectionText("mine", "test"), "split mine, part test");
  EXPECT_EQ(SelectionText(kNoSplit, "test"), "all samples");
}

}  // namespace
}  // namespace foretell::training
