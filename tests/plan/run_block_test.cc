#include "src/plan/run_block.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "foretell/error.h"
#include "src/core/units.h"
#include "src/core/work_folder.h"
#include "tests/graph/expect_error.h"

namespace foretell::plan {
namespace {

/// Fills a block of as many MiB, and ends at once.
constexpr char kTakesMiB[] =
    "dd if=/dev/zero of=/dev/null bs={shape}M count=1 2>&1";

double PeakMiB(const std::string& command, std::int64_t size) {
  return static_cast<double>(MeasurePeak(command, {size}, 60)) /
         static_cast<double>(kMiB);
}

TEST(MeasurePeak, IsWhatTheCommandTakes) {
  const double least = PeakMiB(kTakesMiB, 128);
  EXPECT_GT(least, 128);
  EXPECT_NEAR(PeakMiB(kTakesMiB, 176) - least, 48, 0.5);
}

TEST(MeasurePeak, CountsWhatTheCommandStarts) {
  const std::string command = std::string(kTakesMiB) + "; true";
  EXPECT_NEAR(PeakMiB(command, 128), PeakMiB(kTakesMiB, 128), 0.5);
}

TEST(MeasurePeak, IsNotWhatThisProcessTakes) {
  const std::vector<char> mine(static_cast<std::size_t>(96 * kMiB), 1);
  EXPECT_LT(PeakMiB("sleep 0.1; : {shape}", 1), 64);
}

TEST(MeasurePeak, SaysWhyACommandFailed) {
  ExpectError(
      [] {
        MeasurePeak(
            "echo one; echo 'ValueError: too thin: {shape}'; echo; "
            "exit 3",
            {8, 9}, 60);
      },
      ErrorCode::kUnsupported,
      "ended with status 3: ValueError: too thin: 8,9");
  ExpectError([] { MeasurePeak("sleep 60; true {shape}", {8}, 0.05); },
              ErrorCode::kUnsupported, "killed at its deadline");
}

/// 'Z' of one that has ended and that nobody has waited for.
bool Runs(const std::string& process) {
  std::ifstream stat("/proc/" + process + "/stat");
  std::string number;
  std::string name;
  char state = 'Z';
  stat >> number >> name >> state;
  return state != 'Z';
}

TEST(MeasurePeak, LeavesNothingRunningBeyondItsDeadline) {
  const WorkFolder work;
  const std::string file = work / "started.txt";
  EXPECT_THROW(
      MeasurePeak("sleep 600 & echo $! >" + file + "; wait # {shape}", {8}, 2),
      Error);
  std::string process;
  std::ifstream(file) >> process;
  ASSERT_FALSE(process.empty());
  for (int tries = 0; tries < 500 && Runs(process); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(Runs(process)) << process;
}

TEST(MeasurePeak, NeedsAPlaceForTheShape) {
  ExpectError([] { MeasurePeak("python algo.py", {8}, 60); },
              ErrorCode::kInvalidArgument,
              "command 'python algo.py': has no {shape}");
}

TEST(MeasurePeak, RefusesACommandThatRunsNothing) {
  for (const char* command : {":", " : {shape}", "{shape}", "", ": {shape};"}) {
    SCOPED_TRACE(command);
    ExpectError([&] { MeasurePeak(command, {8}, 60); },
                ErrorCode::kInvalidArgument, "runs nothing");
  }
}

}  // namespace
}  // namespace foretell::plan
