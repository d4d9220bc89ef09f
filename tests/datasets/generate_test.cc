#include "datasets/collect/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "datasets/store/label_graphs.h"
#include "expect_error.h"
#include "foretell/error.h"
#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyPoint;
using testing::ElementsAre;
using testing::HasSubstr;

TracedPoint TraceToy(const Point& point, const std::string& /*run*/) {
  TracedPoint traced{.point = point,
                     .graph = PackGraph(ToyGraph(point.batch)),
                     .warnings = "careful"};
  traced.point.format = "onnx";
  traced.point.image_size = 8;
  return traced;
}

/// A point before it is opened.
Point Planned(const std::string& model, std::int64_t batch = 1) {
  Point point = ToyPoint(model, batch);
  point.format.clear();
  point.image_size.reset();
  return point;
}

class GenerateTest : public testing::Test {
 protected:
  GenerateSummary Run(const std::vector<Point>& plan,
                      const TraceFunction& trace) {
    return Generate(dataset_, plan, trace, options_);
  }

  Scratch scratch_;
  Dataset dataset_ = Dataset::OpenOrCreate(scratch_ / "d.sqlite");
  GenerateOptions options_{.workers = 2};
};

TEST_F(GenerateTest, StoresWhatTheTraceFoundOut) {
  const GenerateSummary summary = Run({Planned("toy", 4)}, &TraceToy);
  EXPECT_EQ(summary.traced, 1);
  const StoredPoint stored = *dataset_.Find(ToyPoint("toy", 4));
  EXPECT_EQ(stored.point.format, "onnx");
  EXPECT_EQ(stored.point.image_size, 8);
  EXPECT_EQ(stored.warnings, "careful");
  EXPECT_EQ(dataset_.Features(stored.graph).nodes,
            ExtractFeatures(ToyGraph(4)).nodes);
}

TEST_F(GenerateTest, DoesOnlyWhatIsMissing) {
  Run({Planned("a"), Planned("b")}, &TraceToy);
  const GenerateSummary summary =
      Run({Planned("a"), Planned("b"), Planned("c")}, &TraceToy);
  EXPECT_EQ(summary.planned, 3);
  EXPECT_EQ(summary.present, 2);
  EXPECT_EQ(summary.traced, 1);
  EXPECT_EQ(dataset_.NumPoints(), 3);
}

TEST_F(GenerateTest, RecordsAFailureAndGoesOn) {
  const auto trace = [](const Point& point, const std::string& run) {
    if (point.model == "bad")
      throw Error(ErrorCode::kUnsupported, "no such op");
    return TraceToy(point, run);
  };
  const GenerateSummary summary =
      Run({Planned("bad"), Planned("a"), Planned("b")}, trace);
  EXPECT_EQ(summary.traced, 2);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_THAT(summary.failures, ElementsAre(HasSubstr("no such op")));
  const StoredPoint stored = *dataset_.Find(Planned("bad"));
  EXPECT_EQ(stored.reason, "no such op");
  EXPECT_EQ(stored.attempts, 1) << "an error is not retried in the same run";
}

TEST_F(GenerateTest, GivesUpAfterSoManyRuns) {
  const auto trace = [](const Point&, const std::string&) -> TracedPoint {
    throw Error(ErrorCode::kUnsupported, "no");
  };
  options_.max_attempts = 2;
  EXPECT_EQ(Run({Planned("bad")}, trace).failed, 1);
  EXPECT_EQ(Run({Planned("bad")}, trace).failed, 1);
  EXPECT_EQ(Run({Planned("bad")}, trace).given_up, 1);
  options_.retry_given_up = true;
  EXPECT_EQ(Run({Planned("bad")}, &TraceToy).traced, 1);
}

TEST_F(GenerateTest, RetriesWhatKilledItsWorker) {
  const std::string marker = scratch_ / "marker";
  const auto trace = [&marker](const Point& point, const std::string& run) {
    if (!std::filesystem::exists(marker)) {
      std::ofstream(marker) << "x";
      std::raise(SIGKILL);
    }
    return TraceToy(point, run);
  };
  const GenerateSummary summary = Run({Planned("a")}, trace);
  EXPECT_EQ(summary.traced, 1);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(dataset_.Find(Planned("a"))->attempts, 2);
}

TEST_F(GenerateTest, GivesUpOnWhatAlwaysKills) {
  const auto trace = [](const Point&, const std::string&) -> TracedPoint {
    std::raise(SIGKILL);
    return {};
  };
  const GenerateSummary summary = Run({Planned("a")}, trace);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(dataset_.Find(Planned("a"))->attempts, 3);
  EXPECT_THAT(dataset_.Find(Planned("a"))->reason,
              HasSubstr("ended by SIGKILL (9)"));
}

TEST_F(GenerateTest, ReportsProgress) {
  std::vector<std::int64_t> done;
  options_.progress = [&done](const Progress& progress) {
    EXPECT_EQ(progress.total, 3);
    done.push_back(progress.done);
  };
  Run({Planned("a"), Planned("b"), Planned("c")}, &TraceToy);
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
}

TEST_F(GenerateTest, CommitsAsOftenAsItIsTold) {
  std::vector<std::int64_t> seen;
  options_.progress = [&](const Progress&) {
    seen.push_back(Dataset::Open(scratch_ / "d.sqlite").NumPoints());
  };
  options_.commit_every_s = 0;
  Run({Planned("a"), Planned("b")}, &TraceToy);
  options_.commit_every_s = 1000;
  // The first at once: nobody knows when the next one comes.
  Run({Planned("c"), Planned("d"), Planned("e")}, &TraceToy);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 3, 3));
  EXPECT_EQ(dataset_.NumPoints(), 5);
}

constexpr char kAutocast[] = R"({"autocast":"true"})";

class TraceLabelRunsTest : public GenerateTest {
 protected:
  void SetUp() override { dataset_.AddTraced(ToyPoint("toy"), ToyGraph()); }

  void AddLabel(const std::string& setting,
                LabelStatus status = LabelStatus::kOk) {
    Label label = ToyLabel(1, 7);
    label.setting = setting;
    label.status = status;
    dataset_.PutLabel(label);
  }
  /// Traces under a run have as many images as its text has bytes.
  GenerateSummary TraceRuns() {
    return TraceLabelRuns(
        dataset_,
        [](const Point& point, const std::string& run) {
          TracedPoint traced = TraceToy(point, run);
          traced.graph = PackGraph(ToyGraph(std::ssize(run)));
          return traced;
        },
        options_);
  }
};

TEST_F(TraceLabelRunsTest, TracesWhatThePointsGraphDoesNotShow) {
  AddLabel(R"({"driver":"570"})");
  AddLabel(R"({"autocast":"true","driver":"570"})");
  AddLabel(R"({"autocast":"true","framework":"pytorch-2.11","driver":"580"})");
  const GenerateSummary summary = TraceRuns();
  EXPECT_EQ(summary.planned, 1);
  EXPECT_EQ(summary.traced, 1);
  const std::vector<RunGraph> graphs = dataset_.RunGraphs();
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_EQ(graphs[0].point, 1);
  EXPECT_EQ(graphs[0].run, kAutocast);
  EXPECT_EQ(graphs[0].warnings, "careful");
  EXPECT_EQ(dataset_.Graph(graphs[0].graph).info().batch,
            std::ssize(std::string(kAutocast)));
  EXPECT_EQ(dataset_.Find(ToyPoint("toy"))->graph, 1) << "its own stays";
  EXPECT_EQ(TraceRuns().present, 1);
}

TEST_F(TraceLabelRunsTest, TellsRunsApart) {
  AddLabel(R"({"autocast":"true","framework":"pytorch-1.13"})");
  AddLabel(R"({"autocast":"true","framework":"pytorch-2.4.0"})");
  AddLabel(R"({"framework":"pytorch-2.4.0"})");
  EXPECT_EQ(TraceRuns().traced, 3);
}

TEST_F(TraceLabelRunsTest, LeavesFailedMeasurementsOut) {
  AddLabel(kAutocast, LabelStatus::kFailed);
  EXPECT_EQ(TraceRuns().planned, 0);
}

TEST_F(TraceLabelRunsTest, RecordsAFailureAndGivesUp) {
  AddLabel(kAutocast);
  options_.max_attempts = 1;
  const auto fail = [](const Point&, const std::string&) -> TracedPoint {
    throw Error(ErrorCode::kUnsupported, "no such op");
  };
  const GenerateSummary summary = TraceLabelRuns(dataset_, fail, options_);
  EXPECT_THAT(summary.failures,
              ElementsAre(HasSubstr(R"({"autocast":"true"}: no such op)")));
  EXPECT_EQ(dataset_.RunGraphs().at(0).graph, 0);
  EXPECT_EQ(dataset_.RunGraphs().at(0).reason, "no such op");
  EXPECT_EQ(TraceRuns().given_up, 1);
  options_.retry_given_up = true;
  EXPECT_EQ(TraceRuns().traced, 1);
  EXPECT_EQ(dataset_.RunGraphs().at(0).reason, "");
}

TEST_F(TraceLabelRunsTest, FindsTheGraphOfALabel) {
  AddLabel(kAutocast);
  TraceRuns();
  const LabelGraphs graphs(dataset_);
  const StoredPoint stored = *dataset_.Find(ToyPoint("toy"));
  const Label label = dataset_.LabelsOf(1).at(0);
  const RowId found =
      graphs.Of(stored, RunOfPoint(stored.point, label.setting));
  EXPECT_EQ(found, dataset_.RunGraphs().at(0).graph);
  EXPECT_EQ(graphs.Of(stored, {}), stored.graph);
  EXPECT_EQ(graphs.Of(stored, {.torch = {.major = 1, .minor = 13}}), 0);
}

}  // namespace
}  // namespace foretell::dataset
