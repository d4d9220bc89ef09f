#include "src/sandbox/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace foretell::sandbox {
namespace {

using Kind = Outcome::Kind;
using testing::HasSubstr;

std::map<std::int64_t, Outcome> RunAll(
    const std::vector<std::int64_t>& tasks, const PoolOptions& options,
    const std::function<std::string(std::int64_t)>& work) {
  std::map<std::int64_t, Outcome> outcomes;
  RunInWorkers(tasks, options, work,
               [&](std::int64_t task, const Outcome& outcome) {
                 EXPECT_TRUE(outcomes.emplace(task, outcome).second);
               });
  return outcomes;
}

TEST(RunInWorkers, DoesEveryTaskOnce) {
  const auto outcomes = RunAll({5, 6, 7, 8, 9}, {.workers = 3}, [](auto task) {
    return std::string(static_cast<std::size_t>(task) * 100'000, 'x');
  });
  ASSERT_EQ(outcomes.size(), 5U);
  for (const auto& [task, outcome] : outcomes) {
    EXPECT_EQ(outcome.kind, Kind::kDone);
    EXPECT_EQ(std::ssize(outcome.text), task * 100'000);
  }
}

TEST(RunInWorkers, UsesOtherProcesses) {
  const auto outcomes = RunAll({1, 2}, {.workers = 2},
                               [](auto) { return std::to_string(getpid()); });
  for (const auto& [task, outcome] : outcomes) {
    EXPECT_NE(outcome.text, std::to_string(getpid()));
  }
}

TEST(RunInWorkers, PassesErrorsOn) {
  const auto outcomes = RunAll(
      {1}, {}, [](auto) -> std::string { throw std::runtime_error("no"); });
  EXPECT_EQ(outcomes.at(1).kind, Kind::kFailed);
  EXPECT_EQ(outcomes.at(1).text, "no");
}

TEST(RunInWorkers, LosesOnlyTheTaskThatKilledItsWorker) {
  const auto outcomes = RunAll({1, 2, 3, 4}, {.workers = 1}, [](auto task) {
    if (task == 2) std::raise(SIGKILL);
    if (task == 3) _exit(7);
    return std::string("fine");
  });
  ASSERT_EQ(outcomes.size(), 4U);
  EXPECT_EQ(outcomes.at(1).text, "fine");
  EXPECT_EQ(outcomes.at(2).kind, Kind::kDied);
  EXPECT_THAT(outcomes.at(2).text, HasSubstr("ended by SIGKILL (9)"));
  EXPECT_EQ(outcomes.at(3).kind, Kind::kDied);
  EXPECT_THAT(outcomes.at(3).text, HasSubstr("status 7"));
  EXPECT_EQ(outcomes.at(4).text, "fine");
}

TEST(RunInWorkers, EndsATaskThatHangs) {
  const auto outcomes =
      RunAll({1, 2}, {.workers = 1, .deadline_s = 0.2}, [](auto task) {
        if (task == 1) pause();
        return std::string("fine");
      });
  EXPECT_EQ(outcomes.at(1).kind, Kind::kTimedOut);
  EXPECT_EQ(outcomes.at(2).text, "fine");
}

TEST(RunInWorkers, StopsWhenTheReceiverThrows) {
  const std::vector<std::int64_t> tasks = {1, 2, 3};
  EXPECT_THROW(RunInWorkers(
                   tasks, {.workers = 2}, [](auto) { return std::string(); },
                   [](auto, const auto&) { throw std::runtime_error("full"); }),
               std::runtime_error);
}

TEST(RunInWorkers, HasNothingToDoWithoutTasks) {
  EXPECT_TRUE(
      RunAll({}, {.workers = 4}, [](auto) { return std::string(); }).empty());
}

}  // namespace
}  // namespace foretell::sandbox
