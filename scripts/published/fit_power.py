#!/usr/bin/env python3
"""Print the figures from which the constants of src/cost/power.cc were set.

    scripts/published/fit_power.py [--data FOLDER]

Reads published board power of single operators (CSV files, by default in ../shared/data
beside the repository), fits

    power = idle + (chip - idle) (active + a tensor + b lanes + c memory)

cut off at the board's limit, and prints the four shares with their error, per source
and with each source left out in turn. Writes nothing. Needs numpy.

    flagperf    15 operators at two or three precisions on A100 SXM 40 GB
    dcgm        products of 2048^3 on A100 PCIe 80 GB, activities as its counters say
    h200        BF16 products of at least 20 us on H200; shorter runs sample idle gaps

Then what clock and voltage published training of BERT under power limits had.
"""
import argparse
import itertools
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import published  # noqa: E402

# Idle, limit and chip power of the boards as data/devices has them.
A100_SXM, A100_PCIE, H200 = (52, 400, 400), (44, 300, 400), (75, 700, 700)
A100_BYTES_US, H200_BYTES_US = 1555e3, 4800e3
FP32, TF32, BF16, H200_BF16 = 19.5e6, 156e6, 312e6, 989e6  # FLOP per us.
ELEMENTS = 2 ** 30
# Share of the bandwidth at which kernels move data: src/cost/kernel_time.cc.
STREAMED, PRODUCT, FLOAT_PRODUCT = 0.87, 0.70, 0.61
# Tensors that each operator moves, multiply-adds on FP32 lanes beside that.
OPERATORS = {"abs": (2, 0), "neg": (2, 0), "mul": (2, 0), "pow": (2, 0),
             "rsqrt": (2, 0), "add": (3, 0), "rsub": (3, 0), "mean": (1, 0),
             "max": (1, 0), "min": (1, 0), "exp": (2, 6), "gelu": (2, 17)}
PRODUCTS = {"mm": (1, 8192), "addmm": (1, 4096), "bmm": (2, 4096)}
WIDTH = {"fp32": 4, "fp16": 2, "bf16": 2}
GRIDS = {"active": np.arange(0.15, 0.46, 0.03), "tensor": np.arange(0.7, 1.5, 0.1),
         "lanes": np.arange(0.4, 0.9, 0.1), "memory": np.arange(0.14, 0.47, 0.04)}
# Those of src/cost/power.cc.
CHOSEN = (0.27, 1.2, 0.6, 0.34)
SHORTEST_US = 20
# Idle power of boards that others trained BERT on; what memory takes beyond it.
LIMITED_BOARDS = {"V100": 38, "A40": 100, "P100": 32, "Quadro RTX 6000": 55}
MEMORY_PART = 0.15


def flagperf_row(row):
    """Board, tensor, lanes and memory activity, and watts; None for others."""
    us, watts = float(row["kernel_latency_us"]), float(row["gpu_power_mean_w"])
    width = WIDTH.get(row["dtype"])
    if row["op"] in OPERATORS and width:
        tensors, operations = OPERATORS[row["op"]]
        memory = tensors * ELEMENTS * width / us / A100_BYTES_US / STREAMED
        return A100_SXM, 0, 2 * operations * ELEMENTS / us / FP32, memory, watts
    if row["op"] not in PRODUCTS:
        return None
    batch, edge = PRODUCTS[row["op"]]
    rate = 2 * batch * edge ** 3 / us
    # "mm" in fp32 runs at 127 TFLOP/s: TF32.
    on_lanes = row["dtype"] == "fp32" and rate < FP32
    traffic = 3 * batch * edge ** 2 * width / us / A100_BYTES_US
    if on_lanes:
        return A100_SXM, 0, rate / FP32, traffic / FLOAT_PRODUCT, watts
    peak = TF32 if row["dtype"] == "fp32" else BF16
    return A100_SXM, rate / peak, 0, traffic / PRODUCT, watts


def dcgm_row(row):
    if (row["device"] != "A100-PCIE-80GB" or row["experiment"] != "baseline"
            or not row["dtype"].startswith("fp")):
        return None
    lanes = max(float(row["fp32_active"]), float(row["fp16_active"]))
    return (A100_PCIE, float(row["tensor_active"]), lanes,
            float(row["dram_active"]) / PRODUCT, float(row["power_w"]))


def h200_row(row):
    us = 1e3 * float(row["latency_ms"])
    if us < SHORTEST_US:
        return None
    m, n, k = (float(row[name]) for name in "mnk")
    traffic = 2 * (m * n + m * k + n * k) / us / H200_BYTES_US
    return (H200, 2 * m * n * k / us / H200_BF16, 0, traffic / PRODUCT,
            float(row["power_w"]))


SOURCES = {"flagperf": ("more/ops_power_flagperf_a100.csv", flagperf_row),
           "dcgm": ("gemm_power_dcgm.csv", dcgm_row),
           "h200": ("gemm_bf16_power_h200.csv.gz", h200_row)}


def read(folder, path, reader):
    """[rows, 7]: idle, limit, chip, tensor, lanes, memory, watts."""
    published.need(folder / path)
    known = filter(None, map(reader, published.rows(folder / path)))
    return np.array([(*board, *activity) for board, *activity in known])


def errors(shares, table):
    """Logarithm of predicted over published power."""
    active, tensor, lanes, memory = shares
    idle, limit, chip, *activity, watts = table.T
    use = np.minimum(activity, 1)
    range_w = chip - idle
    of_chip = active + tensor * use[0] + lanes * use[1] + memory * use[2]
    return np.log(np.minimum(limit, idle + range_w * of_chip) / watts)


def fit(tables):
    """The shares with the least mean absolute error, sources weighing alike."""
    def loss(shares):
        return np.mean([np.abs(errors(shares, table)).mean() for table in tables])
    return min(itertools.product(*GRIDS.values()), key=loss)


def line(name, shares, table):
    error = 100 * np.expm1(errors(shares, table))
    return (f"| {name} | {len(table)} | " + " | ".join(f"{s:.2f}" for s in shares)
            + f" | {np.median(np.abs(error)):.1f} | {np.abs(error).mean():.1f} | "
            f"{np.median(error):+.1f} |")


def voltages(folder):
    """Pairs of clock and voltage, as shares of those at the board's own limit, of BERT
    trained under lower ones: time says the clock, power above idle, less what memory
    takes, the voltage."""
    rows = [row for row in published.rows(
        folder / "more" / "train_energy_zeus.csv.gz")
            if row["model"] == "bert_base_uncased" and row["dataset"] == "squad"]
    for device, idle in LIMITED_BOARDS.items():
        of_device = [row for row in rows if row["device"] == device]
        batch = max(int(row["batch"]) for row in of_device)
        runs = {int(row["power_limit_w"]): (float(row["time_per_epoch_s"]),
                                            float(row["power_w"]) - idle)
                for row in of_device if int(row["batch"]) == batch}
        own_s, own_w = runs[max(runs)]
        for limit in sorted(runs)[:-1]:
            clock = own_s / runs[limit][0]
            of_sms = (runs[limit][1] / own_w - MEMORY_PART) / (1 - MEMORY_PART)
            if of_sms > 0 and clock < 1:
                yield clock, np.sqrt(of_sms / clock)


def print_voltages(folder):
    pairs = sorted(voltages(folder))
    print("\nBERT trained under power limits, clock: voltage")
    print(" ", ", ".join(f"{clock:.2f}: {voltage:.2f}" for clock, voltage in pairs))
    for low, high in ((0, 0.6), (0.6, 0.8), (0.8, 1)):
        chosen = [pair for pair in pairs if low < pair[0] <= high]
        clock, voltage = np.median(chosen, axis=0)
        print(f"  clock {low} to {high}: median {clock:.2f}, voltage {voltage:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=published.TABLES)
    folder = parser.parse_args().data
    tables = {name: read(folder, *source) for name, source in SOURCES.items()}
    # Fitting sees every 20th product: the grid is coarse, and they are alike.
    seen = {name: table[::20] if len(table) > 1000 else table
            for name, table in tables.items()}
    print("| power of | rows | active | tensor | lanes | memory | median % | mean % "
          "| signed % |\n|---|---|---|---|---|---|---|---|---|")
    best = fit(seen.values())
    for name, table in tables.items():
        print(line(f"{name}, chosen", CHOSEN, table))
        print(line(f"{name}, best of all", best, table))
        others = [seen[other] for other in seen if other != name]
        print(line(f"{name}, from the others", fit(others), table))
    print_voltages(folder)


if __name__ == "__main__":
    main()
