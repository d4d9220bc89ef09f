#include "src/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace foretell::sandbox {
namespace {

/// Computing on memory, time, and descriptors that are open.
constexpr int kAllowed[] = {
    SCMP_SYS(read),          SCMP_SYS(pread64),
    SCMP_SYS(lseek),         SCMP_SYS(fstat),
    SCMP_SYS(fadvise64),     SCMP_SYS(close),
    SCMP_SYS(sendto),        SCMP_SYS(poll),
    SCMP_SYS(ppoll),         SCMP_SYS(brk),
    SCMP_SYS(munmap),        SCMP_SYS(mremap),
    SCMP_SYS(madvise),       SCMP_SYS(futex),
    SCMP_SYS(rseq),          SCMP_SYS(sched_yield),
    SCMP_SYS(getrandom),     SCMP_SYS(sched_getaffinity),
    SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
    SCMP_SYS(getrusage),     SCMP_SYS(getpid),
    SCMP_SYS(gettid),        SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),  SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),          SCMP_SYS(exit_group),
};

/// Threads, and looking at files and the machine.
constexpr int kMeasuring[] = {
    SCMP_SYS(write),           SCMP_SYS(writev),
    SCMP_SYS(getdents64),      SCMP_SYS(stat),
    SCMP_SYS(lstat),           SCMP_SYS(newfstatat),
    SCMP_SYS(statx),           SCMP_SYS(access),
    SCMP_SYS(faccessat),       SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),      SCMP_SYS(set_robust_list),
    SCMP_SYS(set_tid_address), SCMP_SYS(rt_sigaction),
    SCMP_SYS(sigaltstack),     SCMP_SYS(sched_setaffinity),
    SCMP_SYS(getcpu),          SCMP_SYS(get_mempolicy),
    SCMP_SYS(nanosleep),       SCMP_SYS(clock_nanosleep),
    SCMP_SYS(membarrier),      SCMP_SYS(sysinfo),
    SCMP_SYS(uname),           SCMP_SYS(mlock),
};

/// A call that libraries make in passing and can do without.
struct Refused {
  int call;
  int error;
};

constexpr Refused kRefused[] = {
    {SCMP_SYS(open), EACCES},       {SCMP_SYS(openat), EACCES},
    {SCMP_SYS(access), EACCES},     {SCMP_SYS(faccessat), EACCES},
    {SCMP_SYS(stat), EACCES},       {SCMP_SYS(lstat), EACCES},
    {SCMP_SYS(newfstatat), EACCES}, {SCMP_SYS(statx), EACCES},
    {SCMP_SYS(readlink), EACCES},   {SCMP_SYS(readlinkat), EACCES},
    {SCMP_SYS(write), EBADF},       {SCMP_SYS(writev), EBADF},
    {SCMP_SYS(ioctl), ENOTTY},      {SCMP_SYS(sched_setaffinity), EPERM},
    {SCMP_SYS(sysinfo), EPERM},     {SCMP_SYS(uname), EPERM},
    {SCMP_SYS(prctl), EPERM},
};

struct Release {
  void operator()(scmp_filter_ctx filter) const { seccomp_release(filter); }
};

/// The rules while they are being made; keeps the first error.
class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : filter_(seccomp_init(otherwise)) {}

  void Allow(int call) {
    Note(seccomp_rule_add(filter_.get(), SCMP_ACT_ALLOW, call, 0));
  }
  void Refuse(const Refused& refused) {
    Note(seccomp_rule_add(filter_.get(),
                          SCMP_ACT_ERRNO(static_cast<unsigned>(refused.error)),
                          refused.call, 0));
  }
  /// Allows `call` where all bits of `mask` in an argument are `bits`.
  void AllowWhere(int call, unsigned argument, scmp_datum_t mask,
                  scmp_datum_t bits) {
    Note(seccomp_rule_add(
        filter_.get(), SCMP_ACT_ALLOW, call, 1,
        scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, mask, bits}));
  }

  int Load() {
    if (error_ == 0) Note(seccomp_load(filter_.get()));
    return error_;
  }

 private:
  void Note(int result) {
    if (error_ == 0 && result < 0) error_ = -result;
  }

  std::unique_ptr<void, Release> filter_;
  int error_ = 0;
};

void AllowMeasuring(Filter& filter) {
  for (const int call : kMeasuring) filter.Allow(call);
  const scmp_datum_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  filter.AllowWhere(SCMP_SYS(open), 1, writes, 0);
  filter.AllowWhere(SCMP_SYS(openat), 2, writes, 0);
  filter.AllowWhere(SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD);
  // The C library then calls clone, whose flags can be looked at.
  filter.Refuse({SCMP_SYS(clone3), ENOSYS});
}

}  // namespace

bool IsFilterSupported() {
  const unsigned action = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int FilterSystemCalls(bool makes_code, bool measures) {
  Filter filter(measures ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
  for (const int call : kAllowed) filter.Allow(call);
  if (measures) {
    AllowMeasuring(filter);
  } else {
    for (const Refused& refused : kRefused) filter.Refuse(refused);
  }
  // Memory that can be executed is how foreign bytes become code.
  const scmp_datum_t mask = makes_code ? 0 : PROT_EXEC;
  filter.AllowWhere(SCMP_SYS(mmap), 2, mask, 0);
  filter.AllowWhere(SCMP_SYS(mprotect), 2, mask, 0);
  if (makes_code) filter.Allow(SCMP_SYS(arch_prctl));
  // abort() sends a signal to the process that calls it, and to no other.
  filter.AllowWhere(SCMP_SYS(tgkill), 0, ~scmp_datum_t{0},
                    static_cast<scmp_datum_t>(getpid()));
  return filter.Load();
}

}  // namespace foretell::sandbox
