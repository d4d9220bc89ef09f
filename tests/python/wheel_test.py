"""The wheel with all libraries inside, in an environment without torch.

    wheel_test.py SOURCE BUILD [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BUILD = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
OFFLINE = ("--quiet", "--no-index", "--no-build-isolation")
# Programs of the system alone, as on a machine that has none of our packages.
BARE = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def run(*words, **options):
    return subprocess.run(list(map(str, words)), check=True, text=True,
                          capture_output=True, **options).stdout


class Wheel(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        run(SOURCE / "scripts/wheel", cls.folder / "dist", *OFFLINE,
            env={**os.environ, "FORETELL_BUILD": str(BUILD)})
        (cls.wheel,) = (cls.folder / "dist").glob("*.whl")
        cls.python = cls.folder / "bare/bin/python"
        run(sys.executable, "-m", "venv", "--without-pip", cls.folder / "bare")
        run(sys.executable, "-m", "pip", "--python", cls.python, "install", "--quiet",
            "--no-index", "--no-deps", cls.wheel)
        (cls.package,) = (cls.folder / "bare").glob("lib/python*/site-packages/foretell")

    def test_has_every_library_that_is_not_the_systems(self):
        libraries = {one.name for one in (self.package / "foretell-libs").iterdir()}
        self.assertIn("libtorch_cpu.so", libraries)
        for program in ("foretell", "foretell-lab"):
            for line in run("ldd", self.package / "bin" / program,
                            env=BARE).splitlines():
                name, _, place = line.strip().partition(" => ")
                self.assertNotIn("not found", place, line)
                if name in libraries:
                    self.assertTrue(place.startswith(str(self.package)), line)

    def test_leaves_the_systems_own_outside(self):
        names = [pathlib.Path(one).name for one in zipfile.ZipFile(self.wheel).namelist()]
        for name in ("libc.so.6", "libstdc++.so.6", "libgcc_s.so.1"):
            self.assertNotIn(name, names)

    def test_answers_without_torch(self):
        answer = json.loads(run(
            self.python, "-c", "import json, foretell; print(json.dumps("
            "foretell.predict('zoo:resnet18', batch=2).to_dict()))", env=BARE))
        self.assertEqual(answer["batch"], 2)
        self.assertIn("foretell", run(self.python.parent / "foretell", "version",
                                      env=BARE))

    def test_does_not_name_the_place_of_its_build(self):
        for program in ("foretell", "foretell-lab"):
            dynamic = run("readelf", "-d", self.package / "bin" / program)
            self.assertEqual(re.findall(r"\[([^]]*ORIGIN[^]]*)\]", dynamic),
                             ["$ORIGIN/../foretell-libs:$ORIGIN/../../torch/lib"])

    def test_is_tagged_by_the_newest_symbols(self):
        interpreter, abi, platform = self.wheel.stem.split("-")[-3:]
        self.assertEqual((interpreter, abi), ("py3", "none"))
        found = re.fullmatch(r"manylinux_2_(\d+)_\w+", platform)
        needed = set()
        for file in (*(self.package / "bin").iterdir(),
                     *(self.package / "foretell-libs").iterdir()):
            needed |= set(map(int, re.findall(r"Name: GLIBC_2\.(\d+)",
                                              run("readelf", "-V", file))))
        self.assertGreaterEqual(int(found[1]), max(needed))
        (metadata,) = (self.package.parent).glob("foretell-*.dist-info/WHEEL")
        self.assertIn(f"Tag: {interpreter}-{abi}-{platform}", metadata.read_text())


class Build(unittest.TestCase):

    def test_beside_a_torch_with_cuda_needs_no_toolkit(self):
        """A torch whose CMake files ask for CUDA, as those of its CUDA builds do."""
        cache = (BUILD / "CMakeCache.txt").read_text()
        torch_cmake = pathlib.Path(re.search(r"^Torch_DIR:PATH=(.*)$", cache, re.M)[1])
        with tempfile.TemporaryDirectory() as scratch:
            torch = pathlib.Path(scratch, "torch")
            shutil.copytree(torch_cmake.parents[0], torch / "share/cmake")
            for name in ("include", "lib"):
                (torch / name).mkdir()
                for one in (torch_cmake.parents[2] / name).iterdir():
                    (torch / name / one.name).symlink_to(one)
            (torch / "lib/libtorch_cuda.so").touch()
            (torch / "share/cmake/Caffe2/Caffe2Config.cmake").write_text(
                'message(FATAL_ERROR "Your installed Caffe2 version uses CUDA but I '
                'cannot find the CUDA libraries")\n')
            project = pathlib.Path(scratch, "project")
            project.mkdir()
            (project / "main.cc").write_text(
                "#include <c10/core/DeviceType.h>\n"
                "int main() { return c10::DeviceTypeName(c10::kCUDA).size() != 4; }\n")
            (project / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(beside CXX)\n"
                f"include({SOURCE}/cmake/ForetellTorch.cmake)\n"
                "add_executable(main main.cc)\ntarget_link_libraries(main torch)\n"
                "target_compile_features(main PRIVATE cxx_std_20)\n"
                'message(STATUS "found ${Torch_VERSION}")\n')
            said = run("cmake", "-S", project, "-B", project / "build",
                       f"-DCMAKE_PREFIX_PATH={torch}/share/cmake", "-DSKBUILD=ON")
            self.assertRegex(said, r"its CPU libraries are used")
            self.assertRegex(said, r"found 2\.\d+\.\d+")
            run("cmake", "--build", project / "build")
            run(project / "build/main")


if __name__ == "__main__":
    unittest.main()
