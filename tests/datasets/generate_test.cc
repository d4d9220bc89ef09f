#include "datasets/collect/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

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

TracedPoint TraceToy(const Point& point) {
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
  const auto trace = [](const Point& point) {
    if (point.model == "bad")
      throw Error(ErrorCode::kUnsupported, "no such op");
    return TraceToy(point);
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
  const auto trace = [](const Point&) -> TracedPoint {
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
  const auto trace = [&marker](const Point& point) {
    if (!std::filesystem::exists(marker)) {
      std::ofstream(marker) << "x";
      std::raise(SIGKILL);
    }
    return TraceToy(point);
  };
  const GenerateSummary summary = Run({Planned("a")}, trace);
  EXPECT_EQ(summary.traced, 1);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(dataset_.Find(Planned("a"))->attempts, 2);
}

TEST_F(GenerateTest, GivesUpOnWhatAlwaysKills) {
  const auto trace = [](const Point&) -> TracedPoint {
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

}  // namespace
}  // namespace foretell::dataset
