// Flips bytes all over a file and reads it: what comes back is what was stored,
// or an error that says where. Nothing in between.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "datasets/store/merge.h"
#include "foretell/dataset.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "scratch.h"
#include "toy.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;

constexpr std::int64_t kPoints = 60;
/// A prime, so that all places within pages come up.
constexpr std::size_t kStride = 211;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// All that was stored of one point, as text.
using Content = std::map<std::string, std::string>;

std::string ContentOf(const Dataset& dataset, const StoredPoint& stored) {
  std::string text = stored.point.family + stored.point.inputs +
                     stored.warnings + std::to_string(stored.attempts);
  text += PrintGraph(dataset.Graph(stored.graph), {.with_timeline = true});
  const GraphFeatures features = dataset.Features(stored.graph);
  for (const NodeFeatureRow& row : features.nodes) {
    text.append(reinterpret_cast<const char*>(row.data()), sizeof(row));
  }
  for (const std::int64_t target : features.targets) {
    text += std::to_string(target);
  }
  for (const Label& label : dataset.LabelsOf(stored.id)) {
    text += label.device + label.setting + label.details +
            std::to_string(label.latency_ms.value_or(-1));
  }
  return text;
}

Content ContentOf(const Dataset& dataset) {
  Content content;
  for (const StoredPoint& stored : dataset.Points()) {
    content[ToString(stored.point)] = ContentOf(dataset, stored);
  }
  for (const std::string& split : dataset.SplitNames()) {
    for (const auto& [point, part] : dataset.Split(split)) {
      content[split] += std::to_string(point) + part;
    }
  }
  for (const auto& [key, value] : dataset.Metadata()) content[key] = value;
  return content;
}

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    Dataset dataset = Dataset::OpenOrCreate(path_);
    Dataset::Batch batch(dataset);
    std::map<RowId, std::string> parts;
    for (std::int64_t i = 1; i <= kPoints; ++i) {
      dataset.AddTraced(ToyPoint("toy" + std::to_string(i), i), ToyGraph(i));
      Label label = ToyLabel(i, static_cast<double>(i) + 0.5);
      label.details = R"({"runs":30})";
      dataset.PutLabel(label);
      parts[i] = i % 3 == 0 ? "test" : "train";
    }
    dataset.PutSplit("random-0", "random", 0, parts);
    batch.Commit();
    expected_ = ContentOf(dataset);
    sound_ = ReadFile(path_);
  }

  /// The file with the byte at `offset` changed by `mask`.
  void Flip(std::size_t offset, char mask) {
    std::string bytes = sound_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ mask);
    WriteFile(path_, bytes);
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "d.sqlite";
  Content expected_;
  std::string sound_;
};

/// One bit, or all of them.
class FlippedByte : public DamageTest,
                    public testing::WithParamInterface<int> {};

TEST_P(FlippedByte, IsNamedOrHarmless) {
  std::int64_t detected = 0;
  std::int64_t harmless = 0;
  for (std::size_t offset = 0; offset < sound_.size(); offset += kStride) {
    Flip(offset, static_cast<char>(GetParam() != 0 ? 0xff : 1 << offset % 8));
    const std::vector<Damage> damage = CheckDataset(path_);
    for (const Damage& found : damage) {
      EXPECT_FALSE(found.table.empty());
      EXPECT_FALSE(found.what.empty());
    }
    bool refused = false;
    try {
      EXPECT_TRUE(ContentOf(Dataset::Open(path_)) == expected_)
          << "silently different after a flip at " << offset;
    } catch (const Error& error) {
      refused = true;
      EXPECT_THAT(error.what(), testing::HasSubstr(path_));
      EXPECT_FALSE(damage.empty())
          << "offset " << offset << ": check missed " << error.what();
    }
    ++(refused || !damage.empty() ? detected : harmless);
  }
  // Most of a small file is indices, free space and slack between cells.
  EXPECT_GT(detected, harmless / 2);
}

INSTANTIATE_TEST_SUITE_P(Masks, FlippedByte, testing::Values(0, 1));

TEST_F(DamageTest, IsNamedByTableAndRow) {
  const std::size_t offset = sound_.find("toy17");
  ASSERT_NE(offset, std::string::npos);
  // The first hit is the row or its index entry; both belong to points.
  Flip(offset + 3, 1);
  std::string all;
  for (const Damage& damage : CheckDataset(path_)) {
    all += ToString(damage) + "\n";
  }
  EXPECT_THAT(all, testing::HasSubstr("points"));
}

TEST_F(DamageTest, LeavesTheRestToBeSalvaged) {
  std::int64_t flips = 0;
  std::int64_t nearly_all_saved = 0;
  for (std::size_t offset = 4096 + 17; offset < sound_.size();
       offset += kStride * 37) {
    Flip(offset, static_cast<char>(0xff));
    const std::string rescued = scratch_ / "rescued.sqlite";
    std::remove(rescued.c_str());
    const std::string input[] = {path_};
    dataset::MergeDatasets(input, rescued, {.salvage = true});
    EXPECT_THAT(CheckDataset(rescued), testing::IsEmpty());
    const Dataset dataset = Dataset::Open(rescued);
    std::int64_t saved = 0;
    for (const StoredPoint& stored : dataset.Points()) {
      const std::string name = ToString(stored.point);
      ASSERT_TRUE(expected_.contains(name)) << name;
      if (stored.graph == 0) continue;
      if (ContentOf(dataset, stored) == expected_[name]) ++saved;
    }
    ++flips;
    if (saved >= kPoints * 8 / 10) ++nearly_all_saved;
  }
  ASSERT_GT(flips, 10);
  EXPECT_GE(nearly_all_saved * 10, flips * 7)
      << nearly_all_saved << " of " << flips;
}

TEST_F(DamageTest, OfALostTailIsFound) {
  WriteFile(path_, sound_.substr(0, sound_.size() - 3 * 4096));
  EXPECT_FALSE(CheckDataset(path_).empty());
}

}  // namespace
}  // namespace foretell
