"""Runs a command that a hostile file may want to bring down, within limits."""

import dataclasses
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import unicodedata

# Under a sanitizer programs are slow and map terabytes.
SANITIZED = os.environ.get("FORETELL_SANITIZED") == "1"
HANG_SECONDS = 1200 if SANITIZED else 150
ADDRESS_SPACE = resource.RLIM_INFINITY if SANITIZED else 8 << 30
FILE_BYTES = 256 << 20
MOST_RESIDENT_MIB = 4500
# How AddressSanitizer, UndefinedBehaviorSanitizer and their like begin a report.
REPORT = re.compile(r"(Sanitizer: |runtime error: ).*")


@dataclasses.dataclass
class Outcome:
    status: int  # Minus the signal that ended it.
    out: str
    err: str
    resident_mib: float  # Of its largest process.

    def errors(self):
        return [line for line in self.err.splitlines() if ": error: " in line]


def limit():
    for what, most in [(resource.RLIMIT_AS, ADDRESS_SPACE),
                       (resource.RLIMIT_FSIZE, FILE_BYTES),
                       (resource.RLIMIT_CORE, 0)]:
        resource.setrlimit(what, (most, most))


def wait(process, seconds):
    """Status and usage; kills it, and fails, after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage
        if time.monotonic() > end:
            os.killpg(process.pid, 9)
            os.wait4(process.pid, 0)
            raise AssertionError(f"runs for more than {seconds} s")
        time.sleep(0.01)


def read_text(stream):
    stream.seek(0)
    return stream.read().decode("utf-8")  # Throws where it is no UTF-8.


def steering(text):
    """Characters that would steer what shows the text."""
    return {character for character in text.replace("\n", "")
            if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")}


def run(*argv, cwd=None, stdout=None, seconds=HANG_SECONDS):
    """Runs a command; what it must do whatever it is given is asserted."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*map(os.fspath, argv)], stdin=subprocess.DEVNULL,
            stdout=stdout or out, stderr=err, cwd=cwd, preexec_fn=limit,
            start_new_session=True)
        status, usage = wait(process, seconds)
        process.returncode = status
        outcome = Outcome(status, read_text(out), read_text(err),
                          usage.ru_maxrss / 1024)
    report = REPORT.search(outcome.err)
    begin = outcome.err.rfind("\n", 0, report.start()) + 1 if report else 0
    assert not report, outcome.err[begin:][:4000]
    assert status in (0, 1, 2, 3), (status, outcome.err[:1000])
    assert not steering(outcome.out + outcome.err), outcome.err[:1000]
    assert SANITIZED or outcome.resident_mib < MOST_RESIDENT_MIB, outcome
    return outcome


def scratch():
    return tempfile.TemporaryDirectory(prefix="foretell_attacks_")


def pipe(folder):
    """A pipe that nobody writes."""
    path = pathlib.Path(folder, "pipe")
    if not path.exists():
        os.mkfifo(path)
    return path


def add_cases(suite, prefix, names, check):
    """Gives `suite` a test for each of `names`, which its method `check` makes."""
    for name in names:
        setattr(suite, f"test_{prefix}{name}".replace(" ", "_"),
                lambda self, name=name: getattr(self, check)(name))
