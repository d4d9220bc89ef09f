"""Builds the wheel: scikit-build-core, told which LibTorch to build with.

It is the torch that is installed where the package goes, with CUDA or without; where
none is, 2.13 is a requirement of the build and its libraries become part of the wheel. A
build tree named by FORETELL_PROGRAMS_FROM gives the programs that it has, and nothing is
compiled.
"""

import importlib.util
import pathlib
import re
import site
import sysconfig

from scikit_build_core import build as _core
from scikit_build_core.build import (  # noqa: F401 - hooks of PEP 517
    build_sdist, get_requires_for_build_sdist, prepare_metadata_for_build_wheel)

TORCH = "torch==2.13.0"
OLDEST = (2, 11)
PREBUILT = "cmake.define.FORETELL_PROGRAMS_FROM"
INSIDE = "cmake.define.FORETELL_LIBTORCH_INSIDE"
PREFIXES = "cmake.define.CMAKE_PREFIX_PATH"
ONNX = "cmake.define.ONNX_PROTO_DIR"


def _version(torch):
    text = (torch / "version.py").read_text(encoding="utf-8")
    found = re.search(r"__version__ = '(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def installed_torch():
    """The folder of the torch that is installed where the package goes, or None.
    pip hides it from this process in a build environment, but names the place."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"),
               *site.getsitepackages(), site.getusersitepackages()]
    for folder in folders:
        torch = pathlib.Path(folder, "torch")
        if (torch / "share/cmake/Torch").is_dir() and _version(torch) >= OLDEST:
            return torch
    return None


def get_requires_for_build_wheel(config_settings=None):
    settings = config_settings or {}
    requires = _core.get_requires_for_build_wheel(config_settings)
    if PREBUILT in settings or PREFIXES in settings or installed_torch():
        return requires
    return [*requires, TORCH]


def _folder(package):
    """Where a package is that this process can import, or None."""
    spec = importlib.util.find_spec(package)
    return pathlib.Path(spec.submodule_search_locations[0]) if spec else None


def _settings(config_settings):
    """`config_settings` with the ways to ONNX and LibTorch, unless they name them."""
    settings = dict(config_settings or {})
    if PREBUILT in settings:
        return settings
    if _folder("onnx"):
        settings.setdefault(ONNX, str(_folder("onnx")))
    if PREFIXES in settings:
        return settings
    torch = installed_torch()
    if torch is None:
        torch = _folder("torch")
        if torch is None:
            raise SystemExit(f"foretell: no torch to build with: pip install {TORCH}")
        settings.setdefault(INSIDE, "ON")
    settings[PREFIXES] = str(torch / "share/cmake")
    return settings


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _core.build_wheel(wheel_directory, _settings(config_settings),
                             metadata_directory)
