#include "training/judge/compare_networks.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/core/files.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"

namespace foretell::training {
namespace {

using learned::NetworkKind;

class NetworkComparisonTest : public testing::Test {
 protected:
  NetworkComparisonTest() {
    training_test::MakeToyDataset(path_, {.points = 24});
  }

  ComparisonOptions Options() {
    ComparisonOptions options{.samples = {.dataset = path_, .split = "random"},
                              .seeds = {4, 3},
                              .folder = folder_ / "c"};
    for (const NetworkKind kind :
         {learned::NetworkKind{learned::LayerKind::kMlp},
          learned::NetworkKind{learned::LayerKind::kGcn}}) {
      options.networks.push_back(training_test::TinyTraining());
      options.networks.back().network.kind = kind;
    }
    return options;
  }

  HooksOfRun Noting() {
    trained_.clear();
    return [this](std::int64_t run, const std::string& name) {
      trained_.push_back(fmt::format("{}: {}", run, name));
      return TrainerHooks{};
    };
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
  std::vector<std::string> trained_;
};

TEST_F(NetworkComparisonTest, TrainsEveryNetworkFromEverySeed) {
  const NetworkComparison comparison(Options());
  EXPECT_EQ(comparison.num_cells(), 4);
  EXPECT_EQ(comparison.data().train.size(), 17);
  const auto cells = comparison.Run(Noting()).value();
  EXPECT_EQ(trained_, (std::vector<std::string>{"0: mlp-4 ", "1: mlp-3 ",
                                                "2: gcn-4 ", "3: gcn-3 "}));
  ASSERT_EQ(cells.size(), 4);
  EXPECT_EQ(cells[1].network, learned::NetworkKind{learned::LayerKind::kMlp});
  EXPECT_EQ(cells[1].seed, 3);
  EXPECT_NE(cells[1].train.pooled, cells[0].train.pooled);
  for (const ComparisonCell& cell : cells) {
    EXPECT_GT(cell.validation.pooled, 0);
    EXPECT_GT(ValueOf(cell.test.mape, learned::Target::kEnergy), 0);
  }
}

TEST_F(NetworkComparisonTest, RepeatsNoCellThatIsThere) {
  const NetworkComparison comparison(Options());
  const std::string first = ComparisonToJson(*comparison.Run(Noting()));
  std::filesystem::remove(folder_ / "c/cells/gcn-4.json");
  EXPECT_EQ(ComparisonToJson(*comparison.Run(Noting())), first);
  EXPECT_EQ(trained_, std::vector<std::string>{"2: gcn-4 "});
  // Cells of other samples do not count.
  ComparisonOptions other = Options();
  other.samples.targets = {learned::Target::kMemory};
  NetworkComparison(other).Run(Noting());
  EXPECT_EQ(trained_.size(), 4);
}

TEST_F(NetworkComparisonTest, KeepsFinishedCellsWhenItIsInterrupted) {
  const NetworkComparison comparison(Options());
  EXPECT_FALSE(comparison.Run([](std::int64_t run, const std::string&) {
    return TrainerHooks{.interrupted = [run] { return run == 1; }};
  }));
  EXPECT_TRUE(comparison.Run(Noting()));
  EXPECT_EQ(trained_.front(), "1: mlp-3 ");
}

TEST_F(NetworkComparisonTest, WritesItsTable) {
  const NetworkComparison comparison(Options());
  const auto cells = comparison.Run(Noting()).value();
  comparison.Write(cells);
  EXPECT_EQ(ReadText(folder_ / "c/comparison.txt"), ComparisonToText(cells));
  EXPECT_EQ(ReadText(folder_ / "c/comparison.md"), ComparisonToMarkdown(cells));
  EXPECT_EQ(ReadText(folder_ / "c/comparison.json"), ComparisonToJson(cells));
  EXPECT_EQ(ReadText(folder_ / "c/comparison.html"), ComparisonToHtml(cells));
}

}  // namespace
}  // namespace foretell::training
