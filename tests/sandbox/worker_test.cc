#include "src/sandbox/worker.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <utility>

#include "tests/graph/expect_error.h"

namespace foretell::sandbox {
namespace {

using Kind = Outcome::Kind;
using testing::EndsWith;

/// Generous: no test depends on it being short, but for those that want it to
/// pass.
constexpr double kLong = 60;
constexpr double kShort = 0.2;

/// A worker that does `work`.
Worker Doing(Worker::Work work, WorkerOptions options = {.deadline_s = kLong}) {
  return Worker(options, [&work] { return std::move(work); });
}

Outcome OutcomeOf(Worker& worker, std::string_view task = "") {
  worker.Give(task);
  return worker.Await();
}

std::string Echo(std::string_view task) { return fmt::format("<{}>", task); }

TEST(Worker, DoesTasksInTheirOrderInAnotherProcess) {
  Worker worker = Doing([](std::string_view task) {
    return fmt::format("{}{}", task, getppid());
  });
  for (const char* task : {"a", "b", "c"}) worker.Give(task);
  for (const char* task : {"a", "b", "c"}) {
    const Outcome outcome = worker.Await();
    EXPECT_EQ(outcome.kind, Kind::kDone);
    EXPECT_EQ(outcome.text, fmt::format("{}{}", task, getpid()));
  }
  EXPECT_EQ(worker.Poll(), std::nullopt);
}

TEST(Worker, PassesErrorsOnAndGoesOn) {
  Worker worker = Doing([](std::string_view task) {
    if (task == "bad") throw Error(ErrorCode::kUnsupported, "no");
    return Echo(task);
  });
  const Outcome outcome = OutcomeOf(worker, "bad");
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_EQ(outcome.code, ErrorCode::kUnsupported);
  EXPECT_EQ(outcome.text, "no");
  EXPECT_EQ(OutcomeOf(worker, "good").text, "<good>");
}

TEST(Worker, SaysWhyItCouldNotBePrepared) {
  Worker worker({}, []() -> Worker::Work {
    throw Error(ErrorCode::kCorrupt, "no model");
  });
  const Outcome outcome = OutcomeOf(worker);
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_EQ(outcome.code, ErrorCode::kCorrupt);
  EXPECT_EQ(outcome.text, "no model");
  EXPECT_EQ(OutcomeOf(worker).kind, Kind::kDied);
}

TEST(Worker, SaysHowItDiedForGood) {
  Worker worker = Doing([](std::string_view) {
    std::raise(SIGSEGV);
    return std::string();
  });
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = OutcomeOf(worker);
    EXPECT_EQ(outcome.kind, Kind::kDied);
    EXPECT_EQ(outcome.signal, SIGSEGV);
    EXPECT_EQ(outcome.text, "ended by SIGSEGV (11)");
  }
}

TEST(Worker, IsEndedAtTheDeadlineOfATask) {
  Worker worker = Doing(
      [](std::string_view task) {
        if (task == "hang") pause();
        return Echo(task);
      },
      {.deadline_s = kShort});
  EXPECT_EQ(OutcomeOf(worker, "quick").kind, Kind::kDone);
  EXPECT_EQ(OutcomeOf(worker, "hang").kind, Kind::kTimedOut);
}

TEST(Worker, IsEndedForALongAnswer) {
  Worker worker = Doing(&Echo, {.deadline_s = kLong, .most_answer_bytes = 8});
  EXPECT_EQ(OutcomeOf(worker, "short").kind, Kind::kDone);
  const Outcome outcome = OutcomeOf(worker, "too long");
  EXPECT_EQ(outcome.kind, Kind::kDied);
  EXPECT_EQ(outcome.text,
            "cut off: it announced a message of 10 bytes, expected at most 8");
}

/// Neither waits for the other one to listen.
TEST(Worker, TakesManyTasksBeforeItAnswers) {
  Worker worker = Doing([](std::string_view task) {
    return std::string(1'000'000, task.front());
  });
  const int tasks = 200;
  for (int i = 0; i < tasks; ++i) worker.Give(std::string(15'000, 'x'));
  worker.Give(std::string(2'000'000, 'y'));
  for (int i = 0; i < tasks; ++i) {
    EXPECT_EQ(worker.Await().text.front(), 'x');
  }
  EXPECT_EQ(worker.Await().text.front(), 'y');
}

TEST(Worker, ThatDoesNotListenHasADeadlineForLongTasks) {
  Worker worker({.deadline_s = kShort}, []() -> Worker::Work {
    pause();
    return &Echo;
  });
  EXPECT_EQ(OutcomeOf(worker, std::string(50'000'000, 'x')).kind,
            Kind::kTimedOut);
}

TEST(Worker, IsHeardWhateverItWrites) {
  Worker worker = Doing(
      [](std::string_view) {
        std::cerr << std::string(1'000'000, 'x') << "the end\n";
        return fmt::format("{}", std::cin.get());
      },
      {.deadline_s = kLong, .hears_words = true});
  EXPECT_EQ(OutcomeOf(worker).text, "-1");
  EXPECT_EQ(worker.last_words().size(), Worker::kMostWords);
  EXPECT_THAT(worker.last_words(), EndsWith("xthe end\n"));
}

TEST(Worker, IsLockedBeforeItPrepares) {
  if (!FindLockSupport().IsWhole()) GTEST_SKIP() << "this kernel has no locks";
  Worker worker({.lock = LockOptions()}, [] {
    if (getppid() >= 0) std::abort();
    return &Echo;
  });
  const Outcome outcome = OutcomeOf(worker);
  EXPECT_EQ(outcome.kind, Kind::kDied);
  EXPECT_EQ(outcome.text, "ended by SIGSYS (31)");
}

TEST(Worker, IsHeardThroughItsLock) {
  Worker worker({.lock = LockOptions{.measures = true}, .hears_words = true},
                [] {
                  return [](std::string_view task) {
                    std::cerr << "working\n";
                    return Echo(task);
                  };
                });
  EXPECT_EQ(OutcomeOf(worker, "1").text, "<1>");
  EXPECT_EQ(worker.last_words(), "working\n");
}

}  // namespace
}  // namespace foretell::sandbox
