#include "tests/conformance/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace foretell::conformance {
namespace {

using ::testing::HasSubstr;

TEST(WorkerPool, ReturnsTheTextOfEveryTaskInOrder) {
  const std::vector<TaskResult> results =
      RunIsolated(100, [](size_t i) { return std::string(i * 1000, 'x'); },
                  {.processes = 3});
  ASSERT_EQ(results.size(), 100u);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].finished);
    EXPECT_EQ(results[i].text.size(), i * 1000);
  }
}

TEST(WorkerPool, HasNothingToDoForNoTasks) {
  EXPECT_TRUE(RunIsolated(0, [](size_t) { return std::string(); }).empty());
}

TEST(WorkerPool, OutlivesACrashAndBlamesItsTask) {
  const std::vector<TaskResult> results =
      RunIsolated(6,
                  [](size_t i) {
                    if (i == 2 || i == 4) kill(getpid(), SIGSEGV);
                    return std::to_string(i);
                  },
                  {.processes = 2});
  for (const size_t i : {0, 1, 3, 5}) {
    EXPECT_TRUE(results[i].finished);
    EXPECT_EQ(results[i].text, std::to_string(i));
  }
  for (const size_t i : {2, 4}) {
    EXPECT_FALSE(results[i].finished);
    EXPECT_THAT(results[i].text, HasSubstr("killed by signal 11"));
  }
}

TEST(WorkerPool, BlamesATaskThatEndsItsProcess) {
  const std::vector<TaskResult> results = RunIsolated(2, [](size_t i) {
    if (i == 0) _exit(7);
    return std::string("fine");
  });
  EXPECT_FALSE(results[0].finished);
  EXPECT_EQ(results[0].text, "ended its process with status 7");
  EXPECT_EQ(results[1].text, "fine");
}

TEST(WorkerPool, KillsATaskThatHangs) {
  const std::vector<TaskResult> results =
      RunIsolated(2,
                  [](size_t i) {
                    while (i == 0) pause();
                    return std::string("fine");
                  },
                  {.processes = 1, .patience = std::chrono::seconds(1)});
  EXPECT_FALSE(results[0].finished);
  EXPECT_EQ(results[0].text, "took more than 1 s");
  EXPECT_EQ(results[1].text, "fine");
}

}  // namespace
}  // namespace foretell::conformance
