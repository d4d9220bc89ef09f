#!/usr/bin/env python3
"""What max-autotune gains over the same mode of torch.compile without it.

    scripts/published/compare_autotune_modes.py

Published latencies of KernelBench in FP32, by scripts/lib/kernelbench.py:
max-autotune times Triton's templates of products and convolutions against the
libraries', and fuses what follows into a template. Prints, by table and kind of
problem, the latency under max-autotune divided by that without: nothing is predicted.

A third of the problems was kept back by those who gave the files.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import kernelbench  # noqa: E402
import published  # noqa: E402

# By the mode without.
MODES = {"default": "max-autotune-no-cudagraphs", "reduce-overhead": "max-autotune"}
# Words in the names of problems.
KINDS = {"products": ("gemm", "matmul", "matrix"), "convolutions": ("conv",)}


def kind_of(problem):
    return next((kind for kind, words in KINDS.items()
                 if any(word in problem.lower() for word in words)), "others")


def ratios_of(modes, without, tuned):
    """By level and kind."""
    found = {}
    for (level, problem), latency in modes[without].items():
        if (level, problem) in modes[tuned]:
            found.setdefault((level, kind_of(problem)), []).append(
                modes[tuned][level, problem] / latency)
    return found


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    published.need(kernelbench.LATENCIES)
    print("| table | mode | level | problems | rows | median | least | most |")
    print("|---|---|---|---|---|---|---|---|")
    for table, modes in kernelbench.tables(kernelbench.DEVICES |
                                           kernelbench.L40S).items():
        for without, tuned in MODES.items():
            if without not in modes or tuned not in modes:
                continue
            for (level, kind), ratios in sorted(
                    ratios_of(modes, without, tuned).items()):
                print(f"| {table.device} {table.commit} | {tuned} | {level} | {kind} | "
                      f"{len(ratios)} | {statistics.median(ratios):.2f} | "
                      f"{min(ratios):.2f} | {max(ratios):.2f} |")


if __name__ == "__main__":
    foretell.main(main)
