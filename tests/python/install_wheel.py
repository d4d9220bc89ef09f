#!/usr/bin/env python3
"""Builds the wheel from a build tree's programs and installs it in a fresh
environment, without a network.

    .venv/bin/python install_wheel.py SOURCE BUILD ENVIRONMENT [SITE...]

Packages of the folders SITE (torch, NumPy) can be imported there too.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def pip(*words):
    subprocess.run([sys.executable, "-m", "pip", *map(str, words)], check=True)


def main():
    source, build, environment = map(pathlib.Path, sys.argv[1:4])
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip",
                    str(environment)], check=True)
    with tempfile.TemporaryDirectory() as wheels:
        pip("wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", wheels,
            "--config-settings",
            f"cmake.define.FORETELL_PROGRAMS_FROM={build}", source)
        (wheel,) = pathlib.Path(wheels).iterdir()
        pip("--python", environment / "bin/python", "install", *OFFLINE, wheel)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "others.pth").write_text("\n".join(sys.argv[4:]) + "\n")


if __name__ == "__main__":
    main()
