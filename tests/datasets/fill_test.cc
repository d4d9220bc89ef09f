#include "datasets/collect/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <stdexcept>
#include <string>

#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyPoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Label Measured(const LabelTask& task) {
  Label label{.setting = R"({"driver":"580"})"};
  label.latency_ms = static_cast<double>(task.point.point.batch);
  if (task.with_energy) label.energy_j = 1.0;
  return label;
}

class FillTest : public testing::Test {
 protected:
  FillTest() {
    for (std::int64_t batch = 1; batch <= 6; ++batch) {
      dataset_.AddTraced(ToyPoint("toy", batch), ToyGraph(batch));
    }
  }

  FillSummary Fill(const LabelFunction& label) {
    return FillLabels(dataset_, dataset_, label, options_);
  }

  Scratch scratch_;
  Dataset dataset_ = Dataset::OpenOrCreate(scratch_ / "d.sqlite");
  FillOptions options_{.device = "gpu", .source = "fake"};
};

TEST_F(FillTest, LabelsEveryPointWithItsProvenance) {
  options_.provenance = Provenance::kSimulated;
  EXPECT_EQ(Fill(&Measured).labelled, 6);
  const std::vector<Label> labels = dataset_.Labels();
  ASSERT_EQ(labels.size(), 6U);
  for (const Label& label : labels) {
    EXPECT_EQ(label.provenance, Provenance::kSimulated);
    EXPECT_EQ(label.device, "gpu");
    EXPECT_EQ(label.source, "fake");
    EXPECT_EQ(label.setting, R"({"driver":"580"})");
    EXPECT_EQ(label.latency_ms, static_cast<double>(label.point));
    EXPECT_EQ(label.measured_at.size(), 20U);
  }
}

TEST_F(FillTest, DoesOnlyWhatIsMissing) {
  options_.limit = 4;
  const FillSummary first = Fill(&Measured);
  EXPECT_EQ(first.labelled, 4);
  EXPECT_EQ(first.left, 2);
  options_.limit.reset();
  const FillSummary second = Fill(&Measured);
  EXPECT_EQ(second.present, 4);
  EXPECT_EQ(second.labelled, 2);
  options_.device = "another";
  EXPECT_EQ(Fill(&Measured).labelled, 6);
}

TEST_F(FillTest, KeepsTheReasonOfAFailureAndGoesOn) {
  const FillSummary summary = Fill([](const LabelTask& task) -> Label {
    if (task.point.point.batch == 3) throw std::runtime_error("no power");
    return Measured(task);
  });
  EXPECT_EQ(summary.labelled, 5);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_THAT(summary.failures, ElementsAre(HasSubstr("no power")));
  const Label label = dataset_.LabelsOf(3).at(0);
  EXPECT_EQ(label.status, LabelStatus::kFailed);
  EXPECT_EQ(label.reason, "no power");
}

TEST_F(FillTest, RetriesABoundedNumberOfTimes) {
  const auto fail = [](const LabelTask& task) -> Label {
    if (task.point.point.batch == 3) throw std::runtime_error("no power");
    return Measured(task);
  };
  options_.max_attempts = 2;
  Fill(fail);
  EXPECT_EQ(Fill(fail).failed, 1);
  EXPECT_EQ(dataset_.LabelsOf(3).at(0).attempts, 2);
  const FillSummary third = Fill(fail);
  EXPECT_EQ(third.failed, 0);
  EXPECT_EQ(third.given_up, 1);
}

TEST_F(FillTest, ForgetsTheFailureOfAPointThatSucceeds) {
  bool broken = true;
  const auto flaky = [&broken](const LabelTask& task) -> Label {
    if (broken) throw std::runtime_error("no power");
    return Measured(task);
  };
  Fill(flaky);
  broken = false;
  EXPECT_EQ(Fill(flaky).labelled, 6);
  EXPECT_EQ(dataset_.Labels().size(), 6U);
  EXPECT_EQ(dataset_.LabelsOf(1).at(0).attempts, 2);
  EXPECT_EQ(dataset_.LabelsOf(1).at(0).reason, "");
}

TEST_F(FillTest, TakesOutOfMemoryForAResult) {
  Fill([](const LabelTask&) {
    return Label{.status = LabelStatus::kOutOfMemory, .reason = "40 GiB"};
  });
  EXPECT_EQ(Fill(&Measured).present, 6);
  EXPECT_EQ(dataset_.Labels().at(0).status, LabelStatus::kOutOfMemory);
}

TEST_F(FillTest, MeasuresEnergyOfEveryNthPoint) {
  options_.energy_every = 3;
  Fill(&Measured);
  std::int64_t with_energy = 0;
  for (const Label& label : dataset_.Labels()) {
    if (label.energy_j) ++with_energy;
  }
  EXPECT_EQ(with_energy, 2);
}

TEST_F(FillTest, DividesPointsAmongShards) {
  std::set<RowId> points;
  for (const std::int64_t index : {1, 2, 3, 4}) {
    options_.shard = {index, 4};
    Dataset own =
        Dataset::OpenOrCreate(scratch_ / ("s" + std::to_string(index)));
    FillLabels(dataset_, own, &Measured, options_);
    for (const StoredPoint& stored : own.Points()) {
      EXPECT_EQ(stored.status, PointStatus::kUntraced);
      EXPECT_TRUE(points.insert(dataset_.Find(stored.point)->id).second);
    }
    EXPECT_EQ(std::ssize(own.Labels()), own.NumPoints());
  }
  EXPECT_EQ(points.size(), 6U);
  EXPECT_THAT(dataset_.Labels(), IsEmpty());
}

TEST_F(FillTest, StartsNothingBeyondItsBudget) {
  options_.budget_s = 0;
  EXPECT_EQ(Fill(&Measured).left, 6);
}

TEST_F(FillTest, CommitsEachLabelInThisProcessAndTheFirstOfWorkers) {
  std::vector<std::int64_t> seen;
  options_.progress = [&](const Progress&) {
    seen.push_back(std::ssize(Dataset::Open(scratch_ / "d.sqlite").Labels()));
  };
  Fill(&Measured);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6));
  seen.clear();
  options_.source = "again";
  options_.workers = 2;
  Fill(&Measured);
  EXPECT_EQ(seen.front(), 7);
}

TEST_F(FillTest, RunsInWorkersThatMayDie) {
  options_.workers = 2;
  const FillSummary summary = Fill([](const LabelTask& task) {
    if (task.point.point.batch == 3) std::raise(SIGKILL);
    return Measured(task);
  });
  EXPECT_EQ(summary.labelled, 5);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_THAT(dataset_.LabelsOf(3).at(0).reason,
              HasSubstr("ended by SIGKILL (9)"));
  EXPECT_EQ(dataset_.LabelsOf(4).at(0).latency_ms, 4);
  EXPECT_EQ(dataset_.LabelsOf(4).at(0).setting, R"({"driver":"580"})");
}

TEST_F(FillTest, LeavesPointsWithoutAGraphToMeasurements) {
  dataset_.AddUntraced(ToyPoint("untraced"));
  dataset_.AddFailure(ToyPoint("failed"), "no");
  options_.needs_graph = true;
  EXPECT_EQ(Fill(&Measured).points, 6);
  options_.needs_graph = false;
  EXPECT_EQ(Fill(&Measured).points, 7);
}

}  // namespace
}  // namespace foretell::dataset
