#include "src/sandbox/lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "src/core/process.h"

namespace foretell::sandbox {
namespace {

using Work = std::function<std::string()>;

/// What a locked child answers, or how it ended.
std::string Locked(const Work& work, LockOptions options = {}) {
  ChildProcess child = ChildProcess::Fork(
      {.core_bytes = 0}, [&work, &options](Channel& channel) {
        options.keep = {channel.end().number()};
        LockProcess(options);
        channel.Send(work());
      });
  if (const auto answer = child.channel().Receive()) return *answer;
  return ToString(child.Wait());
}

/// "done", or the name of the error.
std::string Say(long result) {
  return result >= 0 ? "done" : strerrorname_np(errno);
}

/// Makes a test say that it has not run rather than fail.
#define REQUIRE_LOCKS() \
  if (!FindLockSupport().IsWhole()) GTEST_SKIP() << "this kernel has no locks"

struct Attempt {
  const char* what;
  Work work;
};

TEST(Lock, EndsWhoTriesToLeaveTheProcess) {
  REQUIRE_LOCKS();
  const pid_t parent = getpid();
  const Attempt attempts[] = {
      {"socket", [] { return Say(socket(AF_INET, SOCK_STREAM, 0)); }},
      {"unix socket", [] { return Say(socket(AF_UNIX, SOCK_STREAM, 0)); }},
      {"fork", [] { return Say(fork()); }},
      {"clone3", [] { return Say(syscall(SYS_clone3, nullptr, 0)); }},
      {"execve", [] { return Say(execl("/bin/true", "true", nullptr)); }},
      {"kill", [parent] { return Say(kill(parent, 0)); }},
      {"kill of itself", [] { return Say(kill(getpid(), SIGTERM)); }},
      {"tgkill",
       [parent] { return Say(syscall(SYS_tgkill, parent, parent, 0)); }},
      {"ptrace", [parent] { return Say(syscall(SYS_ptrace, 16, parent)); }},
      {"process_vm_readv",
       [parent] {
         return Say(syscall(SYS_process_vm_readv, parent, 0, 0, 0, 0, 0));
       }},
      {"unlink", [] { return Say(unlink("/tmp/foretell_no_such_file")); }},
      {"chmod", [] { return Say(chmod("/tmp/foretell_no_such_file", 0)); }},
      {"rename", [] { return Say(rename("/tmp/a", "/tmp/b")); }},
      {"dup", [] { return Say(dup(0)); }},
      {"fcntl", [] { return Say(fcntl(0, F_GETFD)); }},
      {"io_uring", [] { return Say(syscall(SYS_io_uring_setup, 1, 0)); }},
      {"executable memory",
       [] {
         void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return Say(code == MAP_FAILED ? -1 : 0);
       }},
      {"making memory executable",
       [] {
         void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return Say(mprotect(page, 4096, PROT_READ | PROT_EXEC));
       }},
  };
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(Locked(attempt.work), "ended by SIGSYS (31)") << attempt.what;
  }
}

TEST(Lock, RefusesWhatLibrariesAskInPassing) {
  REQUIRE_LOCKS();
  struct stat status = {};
  const Attempt attempts[] = {
      {"open", [] { return Say(open("/etc/passwd", O_RDONLY)); }},
      {"open to write",
       [] {
         return Say(open("/tmp/foretell_made", O_CREAT | O_WRONLY, 0600));
       }},
      {"access", [] { return Say(access("/etc/passwd", R_OK)); }},
      {"stat", [&status] { return Say(stat("/etc/passwd", &status)); }},
      {"readlink",
       [] {
         char target[9];
         return Say(readlink("/proc/self/exe", target, sizeof(target)));
       }},
  };
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(Locked(attempt.work), "EACCES") << attempt.what;
  }
  EXPECT_NE(access("/tmp/foretell_made", F_OK), 0);
}

TEST(Lock, LeavesComputingAlone) {
  REQUIRE_LOCKS();
  EXPECT_EQ(
      Locked([] { return std::string(std::size_t{64} << 20, 'x'); }).size(),
      std::size_t{64} << 20);
  EXPECT_EQ(Locked([]() -> std::string {
              try {
                throw std::runtime_error("caught");
              } catch (const std::exception& error) {
                return error.what();
              }
            }),
            "caught");
}

TEST(Lock, ShowsHowTheProcessEnds) {
  REQUIRE_LOCKS();
  EXPECT_EQ(Locked([]() -> std::string { std::abort(); }),
            "ended by SIGABRT (6)");
  EXPECT_EQ(Locked([]() -> std::string { _exit(7); }), "ended with status 7");
}

TEST(Lock, ClosesWhatIsNotKept) {
  REQUIRE_LOCKS();
  const Descriptor secret(open("/etc/passwd", O_RDONLY));
  ASSERT_TRUE(secret.is_open());
  const auto read_secret = [&secret] {
    char byte = 0;
    return Say(pread(secret.number(), &byte, 1, 0));
  };
  EXPECT_EQ(read_secret(), "done");
  EXPECT_EQ(Locked(read_secret), "EBADF");
  EXPECT_EQ(Locked([] { return Say(write(STDOUT_FILENO, "forged", 6)); }),
            "EBADF");
  EXPECT_EQ(Locked([] {
              char byte = 0;
              return std::to_string(read(STDIN_FILENO, &byte, 1));
            }),
            "0");
}

TEST(Lock, AllowsCodeWhereItIsAskedTo) {
  REQUIRE_LOCKS();
  EXPECT_EQ(Locked(
                [] {
                  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  return Say(code == MAP_FAILED ? -1 : 0);
                },
                {.makes_code = true}),
            "done");
}

TEST(Lock, OfAMeasurementReadsTheMachineAndRunsThreads) {
  REQUIRE_LOCKS();
  const Attempt allowed[] = {
      {"processor", [] { return Say(open("/proc/cpuinfo", O_RDONLY)); }},
      {"devices", [] { return Say(open("/sys/devices", O_RDONLY)); }},
      {"randomness", [] { return Say(open("/dev/urandom", O_RDONLY)); }},
      {"thread",
       [] {
         std::string answer = "not run";
         std::thread([&answer] { answer = "done"; }).join();
         return answer;
       }},
  };
  for (const Attempt& attempt : allowed) {
    EXPECT_EQ(Locked(attempt.work, {.measures = true}), "done") << attempt.what;
  }
}

TEST(Lock, OfAMeasurementForbidsTheRest) {
  REQUIRE_LOCKS();
  const pid_t parent = getpid();
  const Attempt attempts[] = {
      {"a file", [] { return Say(open("/etc/passwd", O_RDONLY)); }},
      {"writing",
       [] {
         return Say(open("/tmp/foretell_made", O_CREAT | O_WRONLY, 0600));
       }},
      {"itself", [] { return Say(open("/proc/self/mem", O_RDWR)); }},
      {"socket", [] { return Say(socket(AF_INET, SOCK_STREAM, 0)); }},
      {"fork", [] { return Say(fork()); }},
      {"execve", [] { return Say(execl("/bin/true", "true", nullptr)); }},
      {"kill", [parent] { return Say(kill(parent, 0)); }},
      {"unlink", [] { return Say(unlink("/tmp/foretell_no_such_file")); }},
  };
  for (const Attempt& attempt : attempts) {
    EXPECT_THAT(Locked(attempt.work, {.measures = true}),
                testing::AnyOf("EPERM", "EACCES"))
        << attempt.what;
  }
  EXPECT_NE(access("/tmp/foretell_made", F_OK), 0);
}

/// Each lock holds where the other is missing.
TEST(Lock, IsTwoLocks) {
  REQUIRE_LOCKS();
  const Work opens = [] { return Say(open("/etc/passwd", O_RDONLY)); };
  const auto with = [&opens](LockSupport support) {
    return Locked(opens, {.support = support});
  };
  EXPECT_EQ(with({.seccomp = true, .landlock = false}), "EACCES");
  EXPECT_EQ(with({.seccomp = false, .landlock = true}), "EACCES");
  EXPECT_EQ(with({.seccomp = false, .landlock = false}), "done");
}

}  // namespace
}  // namespace foretell::sandbox
