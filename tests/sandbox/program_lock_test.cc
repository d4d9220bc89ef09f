#include "src/sandbox/program_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/core/process.h"

namespace foretell::sandbox {
namespace {

using ProgramWork = std::function<std::string()>;

constexpr char kHead[] = "/usr/bin/head";
#if defined(__aarch64__)
constexpr char kLoader[] = "/lib/ld-linux-aarch64.so.1";
#else
constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";
#endif

/// A folder that may be changed, in one that may not be looked into.
class Folders {
 public:
  Folders() {
    std::string name =
        (std::filesystem::temp_directory_path() / "foretell_XXXXXX").string();
    outer_ = mkdtemp(name.data());
    std::filesystem::create_directory(inner());
    Write(outer() + "/secret");
  }
  ~Folders() {
    std::error_code ignored;
    std::filesystem::remove_all(outer_, ignored);
  }

  std::string outer() const { return outer_; }
  std::string inner() const { return outer_ + "/inner"; }

  static long Write(const std::string& path) {
    const Descriptor file(
        open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return file.is_open() ? write(file.number(), "text", 4) : -1;
  }

 private:
  std::string outer_;
};

std::string SayResult(long result) {
  return result >= 0 ? "done" : strerrorname_np(errno);
}

std::string InProgram(const Folders& folders, const ProgramWork& work) {
  ChildProcess child =
      ChildProcess::Fork({.core_bytes = 0}, [&](Channel& channel) {
        LockProgram({.paths = {{kHead, kRunProgram, true},
                               {kLoader, kRunProgram, true},
                               {"/usr", kReadFolders},
                               {"/lib", kReadFolders},
                               {"/lib64", kReadFolders},
                               {"/foretell_no_such_folder", kReadFolders},
                               {folders.inner(), kChangeFiles}},
                     .program = kHead});
        channel.Send(work());
      });
  if (const auto answer = child.channel().Receive()) return *answer;
  return ToString(child.Wait());
}

std::string OpenOf(pid_t process, const char* name) {
  const std::string path = "/proc/" + std::to_string(process) + "/" + name;
  return SayResult(open(path.c_str(), O_RDONLY));
}

struct ProgramAttempt {
  const char* what;
  ProgramWork work;
};

#define REQUIRE_BOTH_LOCKS() \
  if (!FindLockSupport().IsWhole()) GTEST_SKIP() << "this kernel has no locks"

TEST(ProgramLock, LetsAProgramWorkInItsFolder) {
  REQUIRE_BOTH_LOCKS();
  const Folders folders;
  const std::string file = folders.inner() + "/file";
  const ProgramAttempt attempts[] = {
      {"write", [&] { return SayResult(Folders::Write(file)); }},
      {"read back",
       [&] {
         Folders::Write(file);
         return SayResult(open(file.c_str(), O_RDONLY));
       }},
      {"delete",
       [&] {
         Folders::Write(file);
         return SayResult(unlink(file.c_str()));
       }},
      {"rename into another folder",
       [&] {
         Folders::Write(file);
         std::filesystem::create_directory(folders.inner() + "/next");
         return SayResult(
             rename(file.c_str(), (folders.inner() + "/next/file").c_str()));
       }},
      {"thread",
       [] {
         std::string answer = "not run";
         std::thread([&answer] { answer = "done"; }).join();
         return answer;
       }},
  };
  for (const ProgramAttempt& attempt : attempts) {
    EXPECT_EQ(InProgram(folders, attempt.work), "done") << attempt.what;
  }
}

TEST(ProgramLock, RefusesWhatReachesBeyondIt) {
  REQUIRE_BOTH_LOCKS();
  const Folders folders;
  const std::string secret = folders.outer() + "/secret";
  const char* const path = secret.c_str();
  const pid_t parent = getpid();
  const ProgramAttempt attempts[] = {
      {"socket", [] { return SayResult(socket(AF_INET, SOCK_STREAM, 0)); }},
      {"unix socket",
       [] { return SayResult(socket(AF_UNIX, SOCK_STREAM, 0)); }},
      {"io_uring", [] { return SayResult(syscall(SYS_io_uring_setup, 1, 0)); }},
      {"fork", [] { return SayResult(fork()); }},
      {"vfork by number", [] { return SayResult(syscall(SYS_fork)); }},
      {"kill", [parent] { return SayResult(kill(parent, 0)); }},
      {"tgkill",
       [parent] { return SayResult(syscall(SYS_tgkill, parent, parent, 0)); }},
      {"ptrace",
       [parent] { return SayResult(syscall(SYS_ptrace, 16, parent)); }},
      {"reading a file", [path] { return SayResult(open(path, O_RDONLY)); }},
      {"writing a file", [path] { return SayResult(open(path, O_WRONLY)); }},
      {"truncating", [path] { return SayResult(truncate(path, 0)); }},
      {"deleting", [path] { return SayResult(unlink(path)); }},
      {"changing rights", [path] { return SayResult(chmod(path, 0777)); }},
      {"a link",
       [&] {
         return SayResult(symlink(path, (folders.inner() + "/link").c_str()));
       }},
      {"memory of another", [parent] { return OpenOf(parent, "mem"); }},
      {"environment of another",
       [parent] { return OpenOf(parent, "environ"); }},
      {"command line of another",
       [parent] { return OpenOf(parent, "cmdline"); }},
      {"processor of another",
       [parent] {
         cpu_set_t all;
         CPU_ZERO(&all);
         CPU_SET(0, &all);
         return SayResult(sched_setaffinity(parent, sizeof(all), &all));
       }},
      {"scheduler of another",
       [parent] {
         const sched_param none = {};
         return SayResult(sched_setscheduler(parent, SCHED_OTHER, &none));
       }},
      {"priority of another",
       [parent] { return SayResult(setpriority(PRIO_PROCESS, parent, 5)); }},
      {"priority of another's disk",
       [parent] {
         return SayResult(syscall(SYS_ioprio_set, 1, parent, 24576));
       }},
      {"limits of another",
       [parent] {
         rlimit limit = {};
         return SayResult(prlimit(parent, RLIMIT_NOFILE, nullptr, &limit));
       }},
      {"handle of another",
       [parent] { return SayResult(syscall(SYS_pidfd_open, parent, 0)); }},
      {"pages of another",
       [parent] {
         return SayResult(syscall(SYS_move_pages, parent, 0, 0, 0, 0, 0));
       }},
      {"shared memory",
       [] { return SayResult(shmget(1234, 4096, IPC_CREAT)); }},
      {"a program in memory", [] { return SayResult(memfd_create("x", 0)); }},
      {"another program",
       [] { return SayResult(execl("/usr/bin/env", "env", nullptr)); }},
      {"the same program again",
       [] {
         const std::string same = kHead;
         return SayResult(execl(same.c_str(), "head", nullptr));
       }},
      {"a program by its loader",
       [] { return SayResult(execl(kLoader, "ld", kHead, nullptr)); }},
      {"another user", [] { return SayResult(setuid(getuid())); }},
      {"rights by a recent call",
       [path] { return SayResult(syscall(452, AT_FDCWD, path, 0777, 0)); }},
      {"a mount by a recent call",
       [] { return SayResult(syscall(SYS_open_tree, AT_FDCWD, "/", 1)); }},
  };
  for (const ProgramAttempt& attempt : attempts) {
    EXPECT_THAT(InProgram(folders, attempt.work),
                testing::AnyOf("EPERM", "EACCES", "ENOSYS"))
        << attempt.what;
  }
  EXPECT_EQ(std::filesystem::file_size(secret), 4);
}

TEST(ProgramLock, FollowsALinkToAFileAndToNoFolder) {
  REQUIRE_BOTH_LOCKS();
  const Folders folders;
  const std::string link = folders.inner() + "/link";
  const auto read_by = [&](const std::string& target, bool is_file) {
    std::filesystem::remove(link);
    std::filesystem::create_symlink(target, link);
    ChildProcess child = ChildProcess::Fork({}, [&](Channel& channel) {
      LockProgram({.paths = {{link, kReadFile, is_file}}});
      const std::string secret = folders.outer() + "/secret";
      channel.Send(SayResult(open(secret.c_str(), O_RDONLY)));
    });
    return child.channel().Receive().value_or("");
  };
  EXPECT_EQ(read_by(folders.outer() + "/secret", true), "done");
  EXPECT_EQ(read_by("/", false), "done");
  EXPECT_EQ(read_by("/", true), "EACCES");
}

/// Root's rights are not those of its files: reading is bound by paths alone.
TEST(ProgramLock, LeavesRootNoCapabilityButReading) {
  REQUIRE_BOTH_LOCKS();
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const Folders folders;
  const std::string others = InProgram(folders, [] {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    syscall(SYS_capget, &header, sets);
    constexpr unsigned kReading = 1U << CAP_DAC_READ_SEARCH;
    return std::to_string((sets[0].permitted | sets[0].effective) & ~kReading) +
           std::to_string(sets[1].permitted | sets[1].effective);
  });
  EXPECT_EQ(others, "00");
}

/// Limits and locks stay with the program that is executed next.
TEST(ProgramLock, StaysWithWhatIsExecuted) {
  REQUIRE_BOTH_LOCKS();
  const Folders folders;
  const auto status_of = [&folders](const std::string& path) {
    return InProgram(folders, [path] {
      execl(kHead, "head", "-c1", path.c_str(), nullptr);
      return std::string("not executed");
    });
  };
  Folders::Write(folders.inner() + "/file");
  EXPECT_EQ(status_of(folders.inner() + "/file"), "ended with status 0");
  EXPECT_EQ(status_of(folders.outer() + "/secret"), "ended with status 1");
}

}  // namespace
}  // namespace foretell::sandbox
