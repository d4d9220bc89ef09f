#include "datasets/store/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "datasets/store/store.h"
#include "expect_error.h"
#include "foretell/graph_io.h"
#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MergeTest : public testing::Test {
 protected:
  Dataset Make(const std::string& name) {
    return Dataset::OpenOrCreate(scratch_ / name);
  }
  MergeSummary Merge(const std::vector<std::string>& names,
                     const MergeOptions& options = {}) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(scratch_ / name);
    return MergeDatasets(paths, out_, options);
  }

  Scratch scratch_;
  std::string out_ = scratch_ / "out";
};

TEST_F(MergeTest, PutsShardsTogether) {
  Make("a").AddTraced(ToyPoint("x"), ToyGraph(2), "careful");
  Dataset b = Make("b");
  b.AddTraced(ToyPoint("y"), ToyGraph(3));
  b.PutLabel(ToyLabel(1, 7.5));
  const MergeSummary summary = Merge({"a", "b"});
  EXPECT_EQ(summary.points, 2);
  EXPECT_EQ(summary.graphs, 2);
  EXPECT_EQ(summary.labels, 1);
  const Dataset out = Dataset::Open(out_);
  const StoredPoint x = *out.Find(ToyPoint("x"));
  EXPECT_EQ(x.warnings, "careful");
  EXPECT_EQ(PrintGraph(out.Graph(x.graph)), PrintGraph(ToyGraph(2)));
  const RowId y = out.Find(ToyPoint("y"))->id;
  EXPECT_EQ(out.LabelsOf(y).at(0).latency_ms, 7.5);
  EXPECT_THAT(CheckDataset(out_), IsEmpty());
}

TEST_F(MergeTest, CanBeRepeated) {
  Dataset a = Make("a");
  a.AddTraced(ToyPoint("x"), ToyGraph());
  a.PutLabel(ToyLabel(1, 7.5));
  Merge({"a"});
  const MergeSummary again = Merge({"a"});
  EXPECT_EQ(again.points + again.graphs + again.labels + again.conflicts, 0);
}

TEST_F(MergeTest, TakesGraphsOfRunsOver) {
  Dataset a = Make("a");
  a.AddTraced(ToyPoint("x"), ToyGraph());
  Dataset b = Make("b");
  b.AddTraced(ToyPoint("y"), ToyGraph());
  b.AddTraced(ToyPoint("x"), ToyGraph());
  b.AddRunGraph(2, "run", ToyGraph(2), "careful");
  b.AddRunFailure(1, "run", "no");
  EXPECT_EQ(Merge({"a", "b"}).graphs, 3);
  const Dataset out = Dataset::Open(out_);
  const RowId x = out.Find(ToyPoint("x"))->id;
  const std::vector<RunGraph> graphs = out.RunGraphs();
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[0].point, x);
  EXPECT_EQ(graphs[0].warnings, "careful");
  EXPECT_EQ(out.Graph(graphs[0].graph).info().batch, 2);
  EXPECT_EQ(graphs[1].reason, "no");
  EXPECT_EQ(Merge({"a", "b"}).graphs, 0) << "repeated";
  EXPECT_THAT(CheckDataset(out_), IsEmpty());
}

TEST_F(MergeTest, TakesAResultOfARunOverAFailure) {
  Dataset a = Make("a");
  a.AddTraced(ToyPoint("x"), ToyGraph());
  a.AddRunFailure(1, "run", "no");
  Dataset b = Make("b");
  b.AddTraced(ToyPoint("x"), ToyGraph());
  b.AddRunGraph(1, "run", ToyGraph(2));
  Merge({"a", "b"});
  EXPECT_NE(Dataset::Open(out_).RunGraphs().at(0).graph, 0);
}

TEST_F(MergeTest, BringsLabelsToPointsThatWereTracedElsewhere) {
  Make("graphs").AddTraced(ToyPoint("x"), ToyGraph());
  Dataset labels = Make("labels");
  labels.AddUntraced(ToyPoint("other"));
  labels.PutLabel(ToyLabel(labels.AddUntraced(ToyPoint("x")), 7.5));
  for (const auto& order : {std::vector<std::string>{"graphs", "labels"},
                            std::vector<std::string>{"labels", "graphs"}}) {
    std::remove(out_.c_str());
    Merge(order);
    const Dataset out = Dataset::Open(out_);
    const StoredPoint x = *out.Find(ToyPoint("x"));
    EXPECT_EQ(x.status, PointStatus::kTraced);
    EXPECT_EQ(out.LabelsOf(x.id).size(), 1U);
    EXPECT_EQ(out.NumPoints(), 2);
  }
}

TEST_F(MergeTest, PrefersResultsToFailures) {
  Dataset a = Make("a");
  Label failed = ToyLabel(a.AddUntraced(ToyPoint("x")), 1);
  failed.status = LabelStatus::kFailed;
  failed.latency_ms.reset();
  failed.reason = "no power";
  a.PutLabel(failed);
  a.AddFailure(ToyPoint("y"), "no such op");
  Dataset b = Make("b");
  b.PutLabel(ToyLabel(b.AddUntraced(ToyPoint("x")), 7.5));
  b.AddTraced(ToyPoint("y"), ToyGraph());
  for (const auto& order : {std::vector<std::string>{"a", "b"},
                            std::vector<std::string>{"b", "a"}}) {
    std::remove(out_.c_str());
    Merge(order);
    const Dataset out = Dataset::Open(out_);
    ASSERT_EQ(out.Labels().size(), 1U);
    EXPECT_EQ(out.Labels()[0].latency_ms, 7.5);
    EXPECT_EQ(out.Find(ToyPoint("y"))->status, PointStatus::kTraced);
  }
}

TEST_F(MergeTest, KeepsTheFirstOfTwoLabelsThatDisagree) {
  for (const auto& [name, latency] :
       {std::pair("a", 1.0), std::pair("b", 2.0)}) {
    Dataset dataset = Make(name);
    dataset.PutLabel(ToyLabel(dataset.AddUntraced(ToyPoint("x")), latency));
  }
  EXPECT_EQ(Merge({"a", "b"}).conflicts, 1);
  EXPECT_EQ(Dataset::Open(out_).Labels().at(0).latency_ms, 1.0);
}

TEST_F(MergeTest, RefusesDamageUnlessItSalvages) {
  Dataset a = Make("a");
  a.AddTraced(ToyPoint("x"), ToyGraph(1));
  a.AddTraced(ToyPoint("y"), ToyGraph(2));
  dataset::StoreOf(a).connection().Run(
      "UPDATE points SET family = 'z' WHERE id = 1");
  ExpectError(ErrorCode::kCorrupt, "points row 1", [&] { Merge({"a"}); });
  EXPECT_EQ(Dataset::Open(out_).NumPoints(), 0) << "all or nothing";
  const MergeSummary summary = Merge({"a"}, {.salvage = true});
  EXPECT_EQ(summary.graphs, 1);
  EXPECT_THAT(summary.damage, ElementsAre(HasSubstr("points row 1")));
}

TEST_F(MergeTest, LetsNoFeaturesOfAnotherVersionIn) {
  Dataset a = Make("a");
  a.AddTraced(ToyPoint("x"), ToyGraph());
  dataset::StoreOf(a).connection().Run(
      "UPDATE metadata SET value = '99', crc = row_crc(id, key, '99') "
      "WHERE key = 'feature_version'");
  for (const bool salvage : {false, true}) {
    ExpectError(ErrorCode::kUnsupported, "version 99",
                [&] { Merge({"a"}, {.salvage = salvage}); });
  }
}

TEST_F(MergeTest, RefusesToMergeAFileIntoItself) {
  Make("out");
  ExpectError(ErrorCode::kInvalidArgument, "is the output",
              [&] { Merge({"out"}); });
}

}  // namespace
}  // namespace foretell::dataset
