#!/usr/bin/env python3
"""Time reading ONNX files: foretell, Protobuf in C++ and Python's onnx.load.

    scripts/bench/bench_onnx_reader.py BUILD_FOLDER

Runs BUILD_FOLDER/benchmarks/onnx_reader_benchmark (configure with
-DFORETELL_BUILD_BENCHMARKS=ON) on generated files of 100 MB and 1.6 GB, loads
the same files in Python and prints one table. Needs the `onnx` package and
2 GB in the temporary folder.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPETITIONS = 5
LOAD_IN_PYTHON = """
import resource, sys, time
import onnx
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = peak(), time.perf_counter()
onnx.load(sys.argv[1])
print(1e3 * (time.perf_counter() - start), peak() - before)
"""


def run_benchmark(program, folder):
    environment = dict(os.environ, FORETELL_BENCHMARK_FOLDER=folder)
    output = subprocess.run(
        [program, "--benchmark_format=json",
         f"--benchmark_repetitions={REPETITIONS}"],
        env=environment, check=True, stdout=subprocess.PIPE).stdout
    best = {}
    for row in json.loads(output)["benchmarks"]:
        if row["run_type"] != "iteration":
            continue
        method, model = row["run_name"].split("/")
        time, growth = best.get((model, method), (float("inf"), 0))
        best[model, method] = (min(time, row["real_time"]),
                               max(growth, row["growth_mib"]))
    return best


def load_in_python(path):
    """Milliseconds and MiB of the fastest of a few processes."""
    results = []
    for _ in range(REPETITIONS):
        output = subprocess.run([sys.executable, "-c", LOAD_IN_PYTHON, path],
                                check=True, stdout=subprocess.PIPE).stdout
        results.append(tuple(float(word) for word in output.split()))
    return min(results)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "benchmarks/onnx_reader_benchmark"
    with tempfile.TemporaryDirectory() as folder:
        results = run_benchmark(program, folder)
        for path in sorted(pathlib.Path(folder).glob("*.onnx")):
            results[path.stem, "onnx.load"] = load_in_python(str(path))
    names = {"ReadModel": "foretell ReadModel",
             "ParseFromArray": "Protobuf ParseFromArray",
             "onnx.load": "Python onnx.load"}
    print("| file | reader | ms | memory growth, MiB |")
    print("|---|---|---:|---:|")
    for model in sorted({model for model, _ in results}):
        for method, title in names.items():
            milliseconds, growth = results[model, method]
            print(f"| {model} | {title} | {milliseconds:.2f} | {growth:.1f} |")


if __name__ == "__main__":
    main()
