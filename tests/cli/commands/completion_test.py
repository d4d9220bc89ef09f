#!/usr/bin/env python3
"""Tests of `completion`, by the shells themselves."""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from calls import OK, run

SECONDS = 60
SET_UP = {"bash": "bind 'set enable-bracketed-paste off'",
          "zsh": "autoload -Uz compinit; compinit -u -D; unset zle_bracketed_paste"}
ARGUMENTS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


class Shell:
    """An interactive shell on a terminal of its own, with the script loaded."""

    def __init__(self, name, script):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"
            os.execvp(name, [name, *ARGUMENTS[name]])
        # Two literals, so that only the answer holds the word in one piece.
        self.answer(f"stty cols 200; {SET_UP[name]}; source '{script}'; "
                    "echo REA''DY\n", "READY")

    def answer(self, keys, until):
        """What the terminal shows after the keys, once it holds `until`."""
        os.write(self.terminal, keys.encode())
        shown, end = "", time.monotonic() + SECONDS
        while until not in shown and time.monotonic() < end:
            if select.select([self.terminal], [], [], 1)[0]:
                shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown

    def complete(self, words, expected):
        """What becomes of the words when Tab is pressed; the line is then dropped."""
        shown = self.answer(words + "\t", expected)
        self.answer("\x15echo DRO''PPED\n", "DROPPED")
        return shown

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Completion(unittest.TestCase):

    def script(self, name):
        """The file of what a shell is to load."""
        if not shutil.which(name):
            self.skipTest(f"no {name}")
        script = run("completion", name)
        self.assertEqual(script.returncode, OK, script.stderr)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "completion")
        path.write_text(script.stdout)
        return path

    def shell(self, name):
        shell = Shell(name, self.script(name))
        self.addCleanup(shell.close)
        return shell

    def check(self, name):
        shell = self.shell(name)
        for words, expected in (("foretell pred", "foretell predict "),
                                ("foretell mig pa", "foretell mig pack "),
                                ("foretell predict --prec", "--precision "),
                                ("foretell fits --max-l", "--max-latency "),
                                ("foretell predict --mode tr", "--mode training "),
                                ("foretell predict --device rtx-40", "rtx-40"),
                                ("foretell predict zoo:resnet10", "zoo:resnet101 ")):
            self.assertIn(expected, shell.complete(words, expected), words)

    def test_bash_completes_commands_and_flags(self):
        self.check("bash")

    def test_zsh_completes_commands_and_flags(self):
        self.check("zsh")

    def test_fish_completes_commands_flags_and_values(self):
        script = self.script("fish")
        for words, expected in (("pred", "predict"), ("mig pa", "pack"),
                                ("predict --prec", "--precision"),
                                ("fits --max-l", "--max-latency"),
                                ("predict --mode tr", "training"),
                                ("predict --device rtx-40", "rtx-4090"),
                                ("predict zoo:resnet10", "zoo:resnet101")):
            shown = subprocess.run(
                ["fish", "--no-config", "-c",
                 f"source {script}; complete -C 'foretell {words}'"],
                capture_output=True, text=True, timeout=SECONDS).stdout
            offered = [line.split("\t")[0] for line in shown.splitlines()]
            self.assertIn(expected, offered, words)

    def test_fish_knows_which_flags_take_a_value(self):
        """It would else take the value for one more model, and offer networks."""
        script = run("completion", "fish").stdout
        kinds = dict(re.findall(r"-n '__fish_seen_subcommand_from predict' "
                                r"-l (\S+) (-\w+)", script))
        self.assertEqual([kinds[flag] for flag in ("input", "html", "device", "mode")],
                         ["-r", "-r", "-xa", "-xa"])
        for flag in ("json", "autocast", "help"):
            self.assertEqual(kinds[flag], "-d", flag)


if __name__ == "__main__":
    unittest.main()
