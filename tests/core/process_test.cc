#include "src/core/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/core/units.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using Kind = ProcessEnd::Kind;

std::ptrdiff_t CountDescriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

/// Every test leaves neither a child nor a descriptor behind.
class Child : public testing::Test {
 protected:
  ~Child() override {
    EXPECT_EQ(CountDescriptors(), descriptors_);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

 private:
  const std::ptrdiff_t descriptors_ = CountDescriptors();
};

ChildProcess Fork(const std::function<void(Channel&)>& work) {
  return ChildProcess::Fork({}, work);
}

void WaitForEver(Channel&) {
  while (true) pause();
}

TEST_F(Child, SendsAMessageFromAnotherProcess) {
  ChildProcess child =
      Fork([](Channel& channel) { channel.Send(std::to_string(getpid())); });
  EXPECT_EQ(child.channel().Receive(), std::to_string(child.id()));
  EXPECT_EQ(ToString(child.Wait()), "ended with status 0");
}

/// Holds as many MiB until it ends, of the kernel's: what the heap has free may
/// be resident already.
void Hold(std::int64_t mib) {
  const auto bytes = static_cast<std::size_t>(mib * kMiB);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) _exit(1);
  std::memset(block, 1, bytes);
}

TEST_F(Child, SaysHowMuchItHadResident) {
  const auto peak = [](const std::function<void(Channel&)>& work) {
    return Fork(work).Wait().peak_bytes;
  };
  const std::int64_t idle = peak([](Channel&) {});
  EXPECT_GT(idle, 0);
  const auto added_mib = [idle](std::int64_t bytes) {
    return static_cast<double>(bytes - idle) / static_cast<double>(kMiB);
  };
  EXPECT_NEAR(added_mib(peak([](Channel&) { Hold(16); })), 16, 2);
  // And what one that it waits for has.
  EXPECT_NEAR(added_mib(peak(
                  [](Channel&) { Fork([](Channel&) { Hold(24); }).Wait(); })),
              24, 2);
}

TEST_F(Child, IsAbandonedAndBuriedLater) {
  ChildProcess child = Fork(&WaitForEver);
  const pid_t id = child.id();
  ChildProcess::Abandon(std::move(child));
  // Its own children do not know of it.
  ChildProcess next = Fork([id](Channel& channel) {
    ChildProcess::BuryAbandoned();
    channel.Send(std::to_string(id));
  });
  EXPECT_EQ(next.channel().Receive(), std::to_string(id));
  ChildProcess::BuryAbandoned();
  EXPECT_EQ(waitpid(id, nullptr, WNOHANG), -1) << "it is left";
}

TEST_F(Child, AnswersWhatItIsAsked) {
  ChildProcess child = Fork([](Channel& channel) {
    while (const auto text = channel.Receive()) channel.Send(*text + "!");
  });
  for (const std::string text : {"one", "two"}) {
    child.channel().Send(text);
    EXPECT_EQ(child.channel().Receive(), text + "!");
  }
}

TEST_F(Child, HasChildrenThatCloseNoFileOfIts) {
  // The first child is one whose channel the second one closes.
  ChildProcess first = Fork(&WaitForEver);
  ChildProcess second = Fork([](Channel& channel) {
    const Descriptor file(open("/dev/null", O_RDONLY));
    ChildProcess grandchild = Fork([&file](Channel& its) {
      its.Send(fcntl(file.number(), F_GETFD) >= 0 ? "open" : "closed");
    });
    channel.Send(grandchild.channel().Receive().value_or("nothing"));
  });
  EXPECT_EQ(second.channel().Receive(), "open");
}

TEST_F(Child, PassesItsErrorOn) {
  ChildProcess child = Fork([](Channel&) {
    throw Error(ErrorCode::kUnsupported, "model.pt: too new");
  });
  ExpectError([&child] { child.channel().Receive(); }, ErrorCode::kUnsupported,
              "model.pt: too new");
  EXPECT_EQ(ToString(child.Wait()), "ended with status 1");
}

TEST_F(Child, NamesTheSignalThatEndedIt) {
  ChildProcess child = Fork([](Channel&) {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(child.channel().Receive(), std::nullopt);
  EXPECT_TRUE(child.channel().is_closed());
  EXPECT_EQ(ToString(child.Kill()), "ended by SIGSEGV (11)");
}

TEST_F(Child, IsKilledAtItsDeadline) {
  ChildProcess child = Fork(&WaitForEver);
  EXPECT_EQ(child.Poll(), std::nullopt);
  child.SetDeadline(0);
  EXPECT_EQ(child.channel().Receive(child.deadline()), std::nullopt);
  EXPECT_FALSE(child.channel().is_closed());
  EXPECT_EQ(child.Wait().kind, Kind::kDeadline);
  EXPECT_EQ(ToString(*child.Poll()), "killed at its deadline");
  EXPECT_NE(kill(child.id(), 0), 0);
}

TEST_F(Child, MayDieInTheMiddleOfAMessage) {
  ChildProcess child = Fork([](Channel& channel) {
    const std::string half("\0\5\0\0\0\0\0\0\0hel", 12);
    if (write(channel.end().number(), half.data(), half.size()) == 12) _exit(7);
  });
  EXPECT_EQ(child.channel().Receive(), std::nullopt);
  EXPECT_TRUE(child.channel().is_closed());
  EXPECT_EQ(ToString(child.Kill()), "ended with status 7");
}

TEST_F(Child, DoesNotOutliveAParentThatDoesNotListen) {
  pid_t id = -1;
  {
    ChildProcess child = Fork([](Channel& channel) {
      while (channel.Send(std::string(1 << 16, 'x'))) continue;
    });
    id = child.id();
  }
  EXPECT_NE(kill(id, 0), 0);
}

TEST_F(Child, SeesItsOwnParentAloneHangUp) {
  // The second child would otherwise hold the first one's channel open.
  auto echo = [](Channel& channel) {
    while (channel.Receive()) continue;
  };
  ChildProcess first = Fork(echo);
  ChildProcess second = Fork(echo);
  shutdown(first.channel().end().number(), SHUT_WR);
  EXPECT_EQ(first.Wait().kind, Kind::kExited);
  EXPECT_EQ(second.Poll(), std::nullopt);
}

TEST_F(Child, KeepsItsLimits) {
  const ProcessLimits limits = {
      .memory_bytes = 1 << 30, .cpu_s = 5, .file_bytes = 4096, .core_bytes = 0};
  ChildProcess child = ChildProcess::Fork(limits, [](Channel& channel) {
    for (const auto resource :
         {RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE}) {
      rlimit limit = {};
      getrlimit(resource, &limit);
      channel.Send(std::to_string(limit.rlim_cur));
    }
  });
  for (const char* most : {"1073741824", "5", "4096", "0"}) {
    EXPECT_EQ(child.channel().Receive(), most);
  }
}

TEST_F(Child, RunsOutOfTheMemoryThatItMayHave) {
  ChildProcess child = ChildProcess::Fork(
      {.memory_bytes = std::int64_t{1} << 30},
      [](Channel&) { const std::vector<char> large(std::size_t{1} << 31); });
  ExpectError([&child] { child.channel().Receive(); }, ErrorCode::kInternal,
              "bad_alloc");
}

}  // namespace
}  // namespace foretell
