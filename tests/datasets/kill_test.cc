// Kills a writer with SIGKILL at random moments, from before the file exists to
// the middle of commits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <string>

#include "foretell/dataset.h"
#include "foretell/error.h"
#include "scratch.h"
#include "toy.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;

constexpr int kKills = 200;
constexpr int kKillsPerFile = 20;
constexpr int kMaxDelayUs = 60'000;
constexpr std::int64_t kRowsPerBatch = 3;

/// Commits batches of points with labels for ever, and reports each.
[[noreturn]] void WriteForEver(const std::string& path, int reports) {
  try {
    Dataset dataset = Dataset::OpenOrCreate(path);
    while (true) {
      Dataset::Batch batch(dataset);
      const std::int64_t first = dataset.NumPoints();
      for (std::int64_t i = first; i < first + kRowsPerBatch; ++i) {
        dataset.AddTraced(ToyPoint("toy" + std::to_string(i)),
                          ToyGraph(1 + i % 7));
        dataset.PutLabel(ToyLabel(i + 1, static_cast<double>(i)));
      }
      batch.Commit();
      const std::int64_t committed = first + kRowsPerBatch;
      if (write(reports, &committed, sizeof(committed)) < 0) _exit(1);
    }
  } catch (const Error& error) {
    fprintf(stderr, "writer: %s\n", error.what());
    _exit(2);
  }
}

/// Lets a writer commit `batches` and go on for `delay_us`, however fast the
/// machine is; returns what it last reported.
std::int64_t CommittedBeforeKill(const std::string& path, int batches,
                                 int delay_us) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  if (writer == 0) WriteForEver(path, ends[1]);
  close(ends[1]);
  std::int64_t committed = 0;
  std::int64_t report = 0;
  for (int i = 0; i < batches; ++i) {
    if (read(ends[0], &report, sizeof(report)) != sizeof(report)) break;
    committed = report;
  }
  usleep(static_cast<useconds_t>(delay_us));
  kill(writer, SIGKILL);
  int status = 0;
  waitpid(writer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
  while (read(ends[0], &report, sizeof(report)) == sizeof(report)) {
    committed = report;
  }
  close(ends[0]);
  return committed;
}

void ExpectAllThere(const std::string& path, std::int64_t committed) {
  const Dataset dataset = Dataset::Open(path);
  const std::vector<StoredPoint> points = dataset.Points();
  const std::vector<Label> labels = dataset.Labels();
  ASSERT_GE(std::ssize(points), committed) << "committed rows are lost";
  EXPECT_EQ(std::ssize(points) % kRowsPerBatch, 0) << "half a batch is there";
  ASSERT_EQ(points.size(), labels.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].point.model, "toy" + std::to_string(i));
    ASSERT_EQ(labels[i].latency_ms, static_cast<double>(i));
  }
}

TEST(Kill, LosesNothingThatWasCommitted) {
  const Scratch scratch;
  std::mt19937 random(20260131);
  std::uniform_int_distribution<int> batches(0, 2);
  std::uniform_int_distribution<int> delay(0, kMaxDelayUs);
  std::int64_t rows = 0;
  for (int file = 0; file < kKills / kKillsPerFile; ++file) {
    const std::string path = scratch / (std::to_string(file) + ".sqlite");
    std::int64_t committed = 0;
    for (int i = 0; i < kKillsPerFile; ++i) {
      committed = std::max(
          committed, CommittedBeforeKill(path, batches(random), delay(random)));
      if (committed == 0) continue;
      ExpectAllThere(path, committed);
      if (HasFatalFailure()) return;
      EXPECT_THAT(CheckDataset(path), testing::IsEmpty());
    }
    rows += committed;
  }
  EXPECT_GT(rows, kKills);
}

}  // namespace
}  // namespace foretell
