#include "src/measure/isolated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "foretell/error.h"

namespace foretell::measure {
namespace {

using Kind = ProcessEnd::Kind;
using testing::EndsWith;

/// Generous: no test depends on it being short, but for those that want it to
/// pass.
constexpr double kLong = 60;
constexpr double kShort = 0.3;

IsolatedOutcome Shell(const std::string& script, double deadline_s = kLong) {
  return RunIsolated(
      {.argv = {"/bin/sh", "-c", script}, .deadline_s = deadline_s});
}

TEST(Isolated, ReturnsWhatTheChildLeaves) {
  const IsolatedOutcome outcome =
      Shell("echo row >&3; echo out; echo err >&2; exit 7");
  EXPECT_EQ(outcome.end.kind, Kind::kExited);
  EXPECT_EQ(outcome.end.status, 7);
  EXPECT_EQ(outcome.result, "row\n");
  EXPECT_EQ(outcome.log, "out\nerr\n");
}

TEST(Isolated, ReturnsTheSignalThatEndedTheChild) {
  const IsolatedOutcome outcome = Shell("echo half >&3; kill -SEGV $$");
  EXPECT_EQ(outcome.end.kind, Kind::kSignalled);
  EXPECT_EQ(outcome.end.signal, SIGSEGV);
  EXPECT_EQ(outcome.result, "half\n");
}

TEST(Isolated, KillsAtTheDeadline) {
  const IsolatedOutcome outcome = Shell("echo before >&2; sleep 600", kShort);
  EXPECT_EQ(outcome.end.kind, Kind::kDeadline);
  EXPECT_EQ(outcome.log, "before\n");
}

TEST(Isolated, KillsAChildThatIgnoresSignals) {
  const IsolatedOutcome outcome =
      Shell("trap '' TERM INT HUP; while :; do sleep 1; done", kShort);
  EXPECT_EQ(outcome.end.kind, Kind::kDeadline);
}

TEST(Isolated, KillsTheChildsChildren) {
  const IsolatedOutcome outcome =
      Shell("sleep 600 & echo $! >&3; wait", kShort);
  const pid_t grandchild = std::stoi(outcome.result);
  // It is gone, or a zombie until its new parent buries it.
  for (int i = 0; i < 1000 && kill(grandchild, 0) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(kill(grandchild, 0) != 0 && errno == ESRCH);
}

TEST(Isolated, DoesNotWaitForPipesThatAGrandchildHolds) {
  const IsolatedOutcome outcome = Shell("sleep 600 & echo row >&3");
  EXPECT_EQ(outcome.end.kind, Kind::kExited);
  EXPECT_EQ(outcome.result, "row\n");
}

TEST(Isolated, TakesALargeResultWhole) {
  const IsolatedOutcome outcome =
      Shell("head -c 1000000 /dev/zero | tr '\\0' x >&3");
  EXPECT_EQ(outcome.result, std::string(1000000, 'x'));
}

TEST(Isolated, KeepsOnlyTheEndOfALongLog) {
  const IsolatedOutcome outcome =
      Shell("head -c 1000000 /dev/zero | tr '\\0' x; echo the end");
  EXPECT_LE(outcome.log.size(), kMaxLogBytes);
  EXPECT_THAT(outcome.log, EndsWith("xthe end\n"));
}

TEST(Isolated, SetsVariablesOverTheParents) {
  setenv("FORETELL_TEST_KEPT", "kept", 1);
  setenv("FORETELL_TEST_REPLACED", "old", 1);
  const IsolatedOutcome outcome = RunIsolated(
      {.argv = {"/bin/sh", "-c",
                "echo $FORETELL_TEST_KEPT $FORETELL_TEST_REPLACED >&3"},
       .environment = {{"FORETELL_TEST_REPLACED", "new"}},
       .deadline_s = kLong});
  EXPECT_EQ(outcome.result, "kept new\n");
}

TEST(Isolated, GivesTheChildNoInput) {
  EXPECT_EQ(Shell("cat >&3; echo done >&3").result, "done\n");
}

TEST(Isolated, RefusesAProgramThatIsNotThere) {
  try {
    RunIsolated({.argv = {"/nowhere/program"}, .deadline_s = kLong});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/program"));
  }
}

}  // namespace
}  // namespace foretell::measure
