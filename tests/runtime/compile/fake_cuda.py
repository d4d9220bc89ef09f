"""Fake tensors on "cuda" with a CPU build of PyTorch.

`load()`, called before torch is imported, compiles no_op_cuda.cc (once per
installation of PyTorch) and loads it; FakeTensorMode then accepts
device="cuda:0".
"""

import ctypes
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

_SOURCE = pathlib.Path(__file__).with_name("no_op_cuda.cc")


def load():
    """Makes fake tensors on cuda:0 possible in this process."""
    if "torch" in sys.modules:
        raise RuntimeError("fake_cuda.load() comes before `import torch`: "
                           "PyTorch looks for its GPU once")
    root = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    key = hashlib.sha256(
        f"{root} {(root / 'version.py').read_text()}".encode()
        + _SOURCE.read_bytes()).hexdigest()[:16]
    library = pathlib.Path(tempfile.gettempdir()) / (
        f"foretell-no-op-cuda-{os.getuid()}-{key}.so")
    if not library.exists():
        _compile(library, root)
    # Global: its getAccelerator() replaces that of LibTorch.
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def _compile(library, root):
    made = library.with_suffix(f".{os.getpid()}")
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-fPIC", "-shared",
         f"-I{root}/include", str(_SOURCE), "-o", str(made),
         f"-L{root}/lib", f"-Wl,-rpath,{root}/lib", "-ltorch_cpu", "-lc10"],
        check=True)
    made.rename(library)
