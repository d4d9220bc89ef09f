#include "src/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
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
#if defined(__SANITIZE_ADDRESS__)
    SCMP_SYS(sigaltstack),  // By the sanitizer, whenever something is thrown.
#endif
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

/// Calls since Linux 5.1 have one number everywhere, from this one on. Among
/// them are io_uring, which makes others' calls unseen, descriptors of
/// processes, mounts, and rights and attributes of files.
constexpr int kFirstRecent = 424;
/// Far beyond the last one.
constexpr int kLastRecent = 511;
/// Those that do nothing that an older call cannot.
constexpr int kRecentAllowed[] = {
    436,  // close_range
    437,  // openat2
    439,  // faccessat2
    441,  // epoll_pwait2
    449,  // futex_waitv
};

/// What reaches beyond a program and the files that it may open.
constexpr int kReaching[] = {
    // Network, and messages between processes.
    SCMP_SYS(socket),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(shmctl),
    SCMP_SYS(semget),
    SCMP_SYS(semop),
    SCMP_SYS(semtimedop),
    SCMP_SYS(semctl),
    SCMP_SYS(msgget),
    SCMP_SYS(msgsnd),
    SCMP_SYS(msgrcv),
    SCMP_SYS(msgctl),
    SCMP_SYS(mq_open),
    SCMP_SYS(mq_unlink),
    // Other processes.
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(migrate_pages),
    SCMP_SYS(move_pages),
    SCMP_SYS(setpriority),
    SCMP_SYS(ioprio_set),
    SCMP_SYS(sched_setaffinity),
    SCMP_SYS(sched_setattr),
    SCMP_SYS(sched_setparam),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(setrlimit),
    SCMP_SYS(setsid),
    SCMP_SYS(setpgid),
    // Files, which Landlock's first version does not cover.
    SCMP_SYS(truncate),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(utime),
    SCMP_SYS(utimes),
    SCMP_SYS(utimensat),
    SCMP_SYS(futimesat),
    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),
    SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(inotify_init),
    SCMP_SYS(inotify_init1),
    SCMP_SYS(fanotify_init),
    // Programs by a descriptor, and in memory, which has no path.
    SCMP_SYS(execveat),
    SCMP_SYS(memfd_create),
    // Identity.
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setreuid),
    SCMP_SYS(setregid),
    SCMP_SYS(setresuid),
    SCMP_SYS(setresgid),
    SCMP_SYS(setfsuid),
    SCMP_SYS(setfsgid),
    SCMP_SYS(setgroups),
    SCMP_SYS(capset),
    SCMP_SYS(personality),
    // The machine.
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(reboot),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(vhangup),
    SCMP_SYS(syslog),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
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

  /// Refuses `call` by EPERM where an argument is in `relation` to `value`.
  void RefuseWhere(int call, unsigned argument, scmp_compare relation,
                   scmp_datum_t value, scmp_datum_t bits = 0) {
    Note(seccomp_rule_add(filter_.get(), SCMP_ACT_ERRNO(EPERM), call, 1,
                          scmp_arg_cmp{argument, relation, value, bits}));
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

int FilterForProgram(const char* program) {
  Filter filter(SCMP_ACT_ALLOW);
  for (const int call : kReaching) filter.Refuse({call, EPERM});
  for (int call = kFirstRecent; call <= kLastRecent; ++call) {
    const bool is_allowed =
        std::ranges::find(kRecentAllowed, call) != std::end(kRecentAllowed);
    if (!is_allowed) filter.Refuse({call, ENOSYS});
  }
  // The loader of its libraries must be executable, and would load others.
  filter.RefuseWhere(SCMP_SYS(execve), 0, SCMP_CMP_NE,
                     reinterpret_cast<scmp_datum_t>(program));
  // A thread, but no process. The C library calls clone where clone3 is not.
  filter.RefuseWhere(SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
  // abort() sends a signal to the process that calls it.
  filter.RefuseWhere(SCMP_SYS(tgkill), 0, SCMP_CMP_NE,
                     static_cast<scmp_datum_t>(getpid()));
  // It can read its own limits, but not change them.
  filter.RefuseWhere(SCMP_SYS(prlimit64), 0, SCMP_CMP_NE, 0);
  filter.RefuseWhere(SCMP_SYS(prlimit64), 2, SCMP_CMP_NE, 0);
  return filter.Load();
}

}  // namespace foretell::sandbox
