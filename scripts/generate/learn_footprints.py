#!/usr/bin/env python3
"""Learns the footprints that the library carries: data/footprints.

    scripts/generate/learn_footprints.py [ALGORITHM...] [--dtypes DTYPE...]

Each by `foretell plan --run` of scripts/lib/chunk_algorithms.py, nine runs, minutes on
a busy machine. Needs an environment of its own, whose python3 is in PATH: pip install
'dask[array]' h5py numpy scipy. A new file is also a line of src/plan/CMakeLists.txt.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell

PROGRAM = "scripts/lib/chunk_algorithms.py"
FOOTPRINTS = "data/footprints"
RUNS = 9
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
VOLUME_EDGES = "z=16..192,y=16..192,x=16..192"
# Blocks to learn from, and what the footprint says besides.
LEARNED = {
    "convolution3d": (VOLUME_EDGES, ("--halo", "1")),
    "fft": (VOLUME_EDGES, ("--whole", "x")),
    "matmul": ("m=64..2048,k=64..2048,n=64..2048",
               ("--whole", "k", "--array", "m,k", "--array", "k,n")),
    "sort": (VOLUME_EDGES, ("--whole", "x")),
    "stencil": (VOLUME_EDGES, ("--halo", "1")),
}


def versions():
    import dask, numpy, scipy
    return (f"dask {dask.__version__}, numpy {numpy.__version__}, "
            f"scipy {scipy.__version__}, one thread, Linux")


def learn(algorithm, dtype):
    axes, flags = LEARNED[algorithm]
    path = pathlib.Path(FOOTPRINTS, f"{algorithm}-{dtype}.json")
    foretell.run("plan", algorithm, "--run",
                 f"python3 {PROGRAM} {algorithm} {dtype} {{shape}}", "--axes",
                 axes, "--dtype", dtype, *flags, "--runs", RUNS, "--note",
                 versions(), "--out", path, environment=ONE_THREAD)
    print(path, json.loads(path.read_text())["formula"], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM")
    parser.add_argument("--dtypes", nargs="+", default=("f32", "f64"))
    arguments = parser.parse_args()
    os.chdir(foretell.ROOT)
    for dtype in arguments.dtypes:
        for algorithm in arguments.algorithms or LEARNED:
            learn(algorithm, dtype)


if __name__ == "__main__":
    foretell.main(main)
