"""A converter that its file has taken over: tries what the lock must refuse, and names
what it could do. Its model lies beside a folder "victim" with a file "secret"; secrets
that are called so may lie elsewhere, too.
"""

import ctypes
import mmap
import os
import pathlib
import resource
import signal
import socket
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PARENT = os.getppid()
HERE = pathlib.Path(sys.argv[1]).parent
SECRET = HERE / "victim" / "secret"


def call(number, *arguments):
    """A system call by its number, which is that of x86-64."""
    if os.uname().machine != "x86_64":
        raise OSError("another machine")
    words = [ctypes.c_long(word) if isinstance(word, int) else word
             for word in arguments]
    if LIBC.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def text(path):
    return ctypes.c_char_p(os.fsencode(path))


def read(path):
    pathlib.Path(path).read_bytes()


def executable(path):
    pid = os.posix_spawn(path, [path], {})
    os.waitpid(pid, 0)


def code():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def others():
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            read(f"/proc/{entry}/cmdline")
            return
    raise OSError("none is seen")


def some_threads():
    threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(20)]
    for thread in threads:
        thread.start()


def in_environment():
    if "TOKEN" not in os.environ:
        raise OSError("hidden")


ATTEMPTS = {
    "a secret": lambda: read(SECRET),
    "a secret at home": lambda: read(HERE / "home" / "secret"),
    "size of a secret": lambda: SECRET.stat(),
    "names beside a secret": lambda: os.listdir(SECRET.parent),
    "change a secret": lambda: open(SECRET, "a").close(),
    "a file beside a secret": lambda: open(SECRET.parent / "new", "w").close(),
    "delete a secret": lambda: SECRET.unlink(),
    "rights of a secret": lambda: SECRET.chmod(0o777),
    "rights of a secret, recently": lambda: call(452, -100, text(SECRET), 0o777, 0),
    "times of a secret": lambda: os.utime(SECRET, (1, 1)),
    "attributes of a secret": lambda: os.setxattr(SECRET, "user.x", b"x"),
    "cut a secret": lambda: os.truncate(SECRET, 0),
    "a link": lambda: os.symlink(SECRET, "link"),
    "a hard link": lambda: os.link(SECRET, "hard"),
    "a pipe": lambda: os.mkfifo("pipe"),
    "watch a secret": lambda: call(254, 0, text(SECRET), 4095),
    "passwords": lambda: read("/etc/shadow"),
    "names in /": lambda: os.listdir("/"),
    "names in /etc": lambda: os.listdir("/etc"),
    "names of temporary files": lambda: os.listdir("/tmp"),
    "token": in_environment,
    "environment of foretell": lambda: read(f"/proc/{PARENT}/environ"),
    "memory map of foretell": lambda: read(f"/proc/{PARENT}/maps"),
    "descriptors of foretell": lambda: os.listdir(f"/proc/{PARENT}/fd"),
    "place of foretell": lambda: os.readlink(f"/proc/{PARENT}/cwd"),
    "command lines": others,
    "its own memory map": lambda: read("/proc/self/maps"),
    "a socket": lambda: socket.socket().close(),
    "a local socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "a process": os.fork,
    "a program": lambda: executable("/bin/true"),
    "become a program": lambda: os.execv("/bin/true", ["true"]),
    "become a loaded program": lambda: os.execv(
        "/lib64/ld-linux-x86-64.so.2", ["ld", "/bin/true"]),
    "a program in memory": lambda: os.memfd_create("x"),
    "signal foretell": lambda: os.kill(PARENT, 0),
    "signal itself": lambda: os.kill(os.getpid(), 0),
    "handle of foretell": lambda: os.pidfd_open(PARENT),
    "trace foretell": lambda: call(101, 16, PARENT, 0, 0),
    "processors of foretell": lambda: os.sched_setaffinity(
        PARENT, os.sched_getaffinity(0)),
    "scheduler of foretell": lambda: os.sched_setscheduler(
        PARENT, os.SCHED_OTHER, os.sched_param(0)),
    "priority of foretell": lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 5),
    "disk priority of foretell": lambda: call(251, 1, PARENT, 3 << 13),
    "limits of foretell": lambda: resource.prlimit(PARENT, resource.RLIMIT_NOFILE),
    "its own limits": lambda: resource.getrlimit(resource.RLIMIT_NOFILE),
    "raise its own limits": lambda: resource.setrlimit(
        resource.RLIMIT_CORE, (1, 1)),
    "pages of foretell": lambda: call(279, PARENT, 0, 0, 0, 0, 0),
    "shared memory": lambda: call(29, 0x1234, 4096, 0o1600),
    "state of shared memory": lambda: call(31, 0, 3, ctypes.create_string_buffer(256)),
    "queues": lambda: call(240, text("q"), os.O_CREAT | os.O_RDWR, 0o600, 0),
    "another user": lambda: os.setuid(0),
    "a session": os.setsid,
    "a name space": lambda: call(272, 0x10000000),
    "a mount": lambda: call(165, 0, text("/mnt"), 0, 0x1000, 0),
    "a tree of mounts": lambda: call(428, -100, text("/"), 1),
    "the host's name": lambda: call(170, text("x"), 1),
    "a terminal": lambda: open("/dev/tty").close(),
    "shared files": lambda: open("/dev/shm/x", "w").close(),
    "its place in the queue to be killed": lambda: pathlib.Path(
        "/proc/self/oom_score_adj").write_text("-1000"),
    "settings of the kernel": lambda: open(
        "/proc/sys/kernel/core_pattern", "w").close(),
    "io_uring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    "bpf": lambda: call(321, 0, 0, 0),
    "a file in its folder": lambda: open("own", "w").close(),
    "code": code,
    "some threads": some_threads,
}


def succeeds(attempt):
    try:
        attempt()
        return True
    except (OSError, ValueError):
        return False


signal.alarm(60)
could = [name for name, attempt in ATTEMPTS.items() if succeeds(attempt)]
sys.exit("Error: could: " + "; ".join(could))
