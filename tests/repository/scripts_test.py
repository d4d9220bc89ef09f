#!/usr/bin/env python3
"""Tests of the way in which scripts find and run foretell."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS / "lib"))

import foretell  # noqa: E402
import host_factor  # noqa: E402
import published  # noqa: E402

# Prints its words and one variable, complains, and ends as it is told.
PROGRAM = """#!/bin/sh
echo "{\\"words\\": \\"$*\\", \\"variable\\": \\"$VARIABLE\\"}"
echo complaint >&2
exit ${STATUS:-0}
"""


class HostFactor(unittest.TestCase):

    @staticmethod
    def latencies(host_ms, gpu_ms):
        """A step that takes the longer of its host's and its GPU's time."""
        return {factor: max(factor * host_ms, gpu_ms)
                for factor in host_factor.FACTORS}

    def run_of(self, host, network, host_ms, truth, gpu_ms=1):
        return host_factor.Run(host, network, self.latencies(host_ms, gpu_ms),
                               truth, {})

    def test_reads_latencies_between_the_predicted(self):
        latencies = self.latencies(10, 20)
        self.assertEqual(host_factor.latency_at(latencies, 2), 20)
        self.assertEqual(host_factor.latency_at(latencies, 3), 30)
        self.assertEqual(host_factor.latency_at(latencies, 0.7), 20)

    def test_tells_who_is_waited_for(self):
        self.assertTrue(host_factor.is_host_bound(self.latencies(10, 8)))
        self.assertTrue(host_factor.is_host_bound(self.latencies(10, 13)))
        self.assertFalse(host_factor.is_host_bound(self.latencies(10, 14)))

    def test_finds_the_factor_at_which_a_row_is_predicted(self):
        latencies = self.latencies(10, 8)
        self.assertEqual(host_factor.own_factor(latencies, 33), 3.3)
        self.assertEqual(host_factor.own_factor(latencies, 8), 0.5)
        self.assertEqual(host_factor.own_factor(latencies, 100), 4)

    def test_takes_the_median_of_host_bound_rows(self):
        rows = [self.run_of("a", "x", 10, truth) for truth in (15, 20, 39)]
        gpu_bound = self.run_of("a", "x", 1, 7.0, gpu_ms=50)
        self.assertAlmostEqual(host_factor.median_factor(rows + [gpu_bound]), 2)
        self.assertEqual(host_factor.median_factor([gpu_bound]), 1)

    def test_leaves_a_rows_network_out_of_its_factor(self):
        runs = [self.run_of("a", "x", 10, 20), self.run_of("a", "y", 10, 30),
                self.run_of("b", "z", 10, 15), self.run_of("b", "z", 10, 25)]
        for found, expected in zip(host_factor.factors_of(runs),
                                   (3, 2, 2.5, 1.5), strict=True):
            self.assertAlmostEqual(found, expected)


class RunForetell(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "foretell"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        os.environ["FORETELL"] = str(self.program)
        self.addCleanup(os.environ.pop, "FORETELL")
        foretell.program.cache_clear()
        self.addCleanup(foretell.program.cache_clear)

    def test_runs_the_program_that_the_environment_names(self):
        self.assertEqual(foretell.program("predict"), str(self.program))
        self.assertIn('"predict 8"', foretell.run("predict", 8))

    def test_adds_to_the_environment(self):
        found = foretell.run_json("x", environment={"VARIABLE": "here"})
        self.assertEqual(found, {"words": "x", "variable": "here"})

    def test_shows_the_error_of_a_failure(self):
        with self.assertRaises(foretell.Failure) as raised:
            foretell.run("fits", environment={"STATUS": "1"})
        self.assertEqual(raised.exception.status, foretell.DOES_NOT_FIT)
        self.assertEqual(str(raised.exception),
                         f"{self.program} fits ended with 1: complaint")

    def test_accepts_the_statuses_that_a_caller_expects(self):
        accept = (foretell.DONE, foretell.MODEL_FAILED)
        for status, fails in ((0, False), (3, False), (4, True)):
            with self.subTest(status=status):
                run = lambda: foretell.run_json(  # noqa: E731
                    accept=accept, environment={"STATUS": str(status)})
                if fails:
                    self.assertRaises(foretell.Failure, run)
                else:
                    self.assertEqual(run()["words"], "")

    def test_says_that_a_document_is_no_json(self):
        self.program.write_text("#!/bin/sh\necho none\n")
        with self.assertRaisesRegex(foretell.Failure, "no JSON"):
            foretell.run_json("version")


# Stands for scripts/build: makes the programs that it is asked for.
BUILD = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/built"
for name; do
  program="$(dirname "$0")/../build/release/cli/$name"
  printf '#!/bin/sh\\necho "%s $*"\\n' "$name" >"$program"
  chmod +x "$program"
done
"""


class BuildOnce(unittest.TestCase):
    """scripts/foretell in a tree that has nothing but the list of subcommands."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("src", "frontends", "datasets", "training", "serve",
                     "include", "data", "cmake", "scripts", "build/release/cli",
                     "cli/commands", "python/converters", "python/runtimes"):
            (self.root / name).mkdir(parents=True)
        (self.root / "CMakeLists.txt").touch()
        table = pathlib.Path("cli", "commands", "command_table.h")
        shutil.copy(SCRIPTS.parent / table, self.root / table)
        shutil.copy(SCRIPTS / "foretell", self.root / "scripts" / "foretell")
        build = self.root / "scripts" / "build"
        build.write_text(BUILD)
        build.chmod(0o755)

    def call(self, *arguments):
        """What it prints, and what it asked scripts/build for."""
        built = self.root / "scripts" / "built"
        built.write_text("")
        printed = subprocess.run(
            [self.root / "scripts" / "foretell", *arguments], text=True,
            capture_output=True, check=True).stdout.strip()
        return printed, built.read_text().split()

    def test_builds_only_foretell_to_predict(self):
        self.assertEqual(self.call("predict", "x"),
                         ("foretell predict x", ["foretell"]))
        self.assertEqual(self.call("predict", "x"), ("foretell predict x", []))
        self.assertEqual(self.call(), ("foretell", []))

    def test_builds_foretell_lab_when_it_is_first_needed(self):
        self.call("mig")
        for subcommand in ("train", "evaluate", "compare-networks",
                           "cross-validate", "dataset", "measure"):
            with self.subTest(subcommand=subcommand):
                (self.root / "build/release/cli/foretell-lab").unlink(
                    missing_ok=True)
                self.assertEqual(self.call(subcommand, "x"),
                                 (f"foretell {subcommand} x", ["foretell-lab"]))
                self.assertEqual(self.call(subcommand)[1], [])

    def test_builds_what_is_older_than_a_source(self):
        self.call("train")
        later = time.time() + 10
        source = self.root / "training" / "new.cc"
        source.touch()
        os.utime(source, (later, later))
        self.assertEqual(self.call("predict")[1], ["foretell"])
        self.assertEqual(self.call("train")[1], ["foretell", "foretell-lab"])

    def call_as_stranger(self, *arguments):
        """What happens to somebody who may only read the tree."""
        folders = [self.root, *filter(pathlib.Path.is_dir, self.root.rglob("*"))]
        for folder in folders:
            folder.chmod(0o555)
            self.addCleanup(folder.chmod, 0o755)
        stranger = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        return subprocess.run([self.root / "scripts" / "foretell", *arguments],
                              text=True, capture_output=True, **stranger)

    def test_says_who_can_build_where_nothing_may_be_written(self):
        self.call("predict")
        result = self.call_as_stranger("train")
        self.assertEqual((result.returncode, result.stdout), (126, ""))
        self.assertRegex(result.stderr, r"^foretell: error: /\S+/foretell-lab is missing, "
                         r"and /\S+ cannot be written: .* foretell-lab\n$")

    def test_runs_what_is_older_where_nothing_may_be_written(self):
        self.call("predict")
        later = time.time() + 10
        source = self.root / "src" / "new.cc"
        source.touch()
        os.utime(source, (later, later))
        result = self.call_as_stranger("predict", "x")
        self.assertEqual((result.returncode, result.stdout), (0, "foretell predict x\n"))
        self.assertIn("warning: foretell in ", result.stderr)

    def test_does_not_end_as_a_model_that_does_not_fit_when_a_build_fails(self):
        (self.root / "scripts" / "build").write_text("#!/bin/sh\nexit 1\n")
        result = subprocess.run([self.root / "scripts" / "foretell", "fits", "x"])
        self.assertEqual(result.returncode, 126)

    def test_says_where_the_program_is_once_it_is_built(self):
        printed, built = self.call("--program", "dataset")
        self.assertEqual(pathlib.Path(printed).resolve(),
                         (self.root / "build/release/cli/foretell").resolve())
        self.assertEqual(built, ["foretell", "foretell-lab"])


class Published(unittest.TestCase):

    def test_takes_a_folder_for_an_archive(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "truth.csv").write_text("model,input\nnet,3x8x4\n")
            with published.unpacked(folder) as found:
                self.assertEqual(published.truth(found)["net"]["input"], "3x8x4")
            self.assertTrue(folder.exists())

    def test_makes_the_input_of_a_trace(self):
        self.assertEqual(published.input_flag("3x8x4", 2), "f32[2,3,8,4]")

    def test_ends_where_shared_data_is_absent(self):
        with self.assertRaisesRegex(SystemExit, "nowhere is absent"):
            published.need(pathlib.Path("nowhere"))


class EveryScript(unittest.TestCase):

    def test_is_listed_in_the_readme_of_its_folder(self):
        for folder in sorted(SCRIPTS.iterdir()):
            if not folder.is_dir() or folder.name == "__pycache__":
                continue
            readme = (folder / "README.md").read_text()
            for script in sorted(folder.iterdir()):
                if script.name not in ("README.md", "__pycache__"):
                    self.assertIn(f"`{script.name}`", readme,
                                  f"{folder.name}/README.md")

    def test_runs_foretell_in_one_way(self):
        """No script but lib/foretell.py names the program itself."""
        for script in sorted(SCRIPTS.rglob("*.py")):
            if script == SCRIPTS / "lib" / "foretell.py":
                continue
            text = script.read_text()
            self.assertNotIn('"FORETELL"', text, script.name)
            self.assertNotIn('/ "foretell"', text, script.name)

    def test_is_executable_where_it_names_its_interpreter(self):
        named = [path for path in sorted(SCRIPTS.rglob("*")) if path.is_file()
                 and path.read_bytes().startswith(b"#!")]
        self.assertGreater(len(named), 20)
        for path in named:
            self.assertTrue(os.access(path, os.X_OK), path)

    def test_compiles(self):
        scripts = sorted(SCRIPTS.rglob("*.py"))
        self.assertGreater(len(scripts), 20)
        for script in scripts:
            compile(script.read_text(), str(script), "exec")

    def test_shell_scripts_parse(self):
        for script in [*SCRIPTS.rglob("*.sh"), *SCRIPTS.rglob("*.sbatch"),
                       *(SCRIPTS / name for name in ("setup", "build", "test",
                                                     "update_golden"))]:
            outcome = subprocess.run(["bash", "-n", script],
                                     capture_output=True, text=True)
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
