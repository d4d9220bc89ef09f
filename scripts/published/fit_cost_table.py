#!/usr/bin/env python3
"""Print the figures from which the tables of src/cost were set.

  scripts/published/fit_cost_table.py [--data FOLDER] [--seed 0]

Reads published GPU measurements (gzipped CSV files, by default in
../shared/data beside the repository), fits the tiled model of matrix products,
the efficiencies of elementwise operators, softmax, layer norm and attention,
and prints them with their errors. Writes nothing: the constants are copied into
src/cost by hand, rounded, where a reader can see them; fit_power.py does the
same for power. Needs numpy.
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import published  # noqa: E402

A100_SMS = 108
BANDWIDTH_GB_S = {"A100-SXM-80GB": 2039, "A100-PCIE-80GB": 1935,
                  "A100-PCIE-40GB": 1555}
TENSOR_TILES = [(256, 128), (128, 128), (128, 64), (64, 64), (32, 64), (16, 64)]
SIMT_TILES = [(256, 128), (128, 128), (128, 64), (64, 64), (32, 64), (32, 32)]
# As in src/cost/gemm.cc, of one product on FP32 lanes and of many at once.
SINGLE_TILES = [(256, 128), (128, 128), (128, 64), (64, 128), (128, 32), (32, 128)]
SINGLE_EFFICIENCIES = [.61, .87, .70, .70, .65, .65]
BATCH_EFFICIENCIES = [.61, .87, .45, .16, .09, .06]
# As in src/cost/gemm.cc: of products, and of convolutions, which have no start of their
# own; cycles in which a tile of 256 x 128 starts.
TENSOR_EFFICIENCIES = [.85, .80, .71, .65, .20, .19]
CONVOLUTION_EFFICIENCIES = [.83, .56, .50, .49, .21, .15]
START_CYCLES = 3000
LARGEST_TILE = 256 * 128
# Name, FP16 peak with FP32 accumulation, bandwidth, multiprocessors.
DEEPBENCH_DEVICES = [("V100", 125, 900, 80), ("T4", 65, 320, 40)]
# Tables of 16-bit products: file, what rows of it, peak (of devices whose products were
# measured, 1 / 0.86 of that), bandwidth, multiprocessors, clock in MHz as the FP32 peak
# says. Only the first one was fitted.
PRODUCT_TABLES = [
    ("A100, serving", "gemm_bf16_a100", {}, 312, 2039, A100_SMS, 1410),
    ("A100, Vidur", "llm_layer_ops_fp16_a100", {}, 312, 2039, A100_SMS, 1410),
    ("A40, Vidur", "llm_layer_ops_fp16_other_gpus", {"device": "A40-48GB"}, 149.7, 696,
     84, 1740),
    ("H100, Vidur", "llm_layer_ops_fp16_other_gpus", {"device": "H100-80GB"}, 921, 3350,
     132, 1803),
    ("H100, serving", "gemm_bf16_h100", {}, 921, 3350, 132, 1803),
    ("H200, serving", "gemm_bf16_power_h200", {}, 921, 4800, 132, 1983)]
SUMS = [256, 512, 1024, 2048, 4096, 10 ** 9]
# The same with the FP32 peak.
FLOAT_DEVICES = [("V100", 15.7, 900, 80), ("P100", 9.3, 732, 56)]
NARROW = [1, 16, 32, 64, 128, 256]


def column(rows, name, default=1.0):
    return np.array([float(row[name] or default) for row in rows])


def gemm_us(shapes, parameters, tiles, peak_tflops, bandwidth_gb_s, width,
            sms=A100_SMS):
    """Time by src/cost/gemm.cc; parameters: tile efficiencies, elements of the sum that
    starting a tile costs, floor in microseconds, share of the bandwidth."""
    batch, m, n, k = shapes
    *efficiencies, depth, floor, memory_share = parameters
    per_sm = peak_tflops * 1e6 / sms
    best = np.full(m.shape, np.inf)
    for (tile_m, tile_n), efficiency in zip(tiles, efficiencies):
        count = np.ceil(m / tile_m) * np.ceil(n / tile_n) * batch
        for split in (1, 2, 4, 8, 16):
            waves = np.ceil(count * split / sms)
            us = waves * 2 * tile_m * tile_n * (np.ceil(k / split) + depth)
            us = us / (per_sm * efficiency)
            if split > 1:
                us = us + batch * m * n * 8 / (bandwidth_gb_s * 1e3)
                us = np.where(k / split >= 128, us, np.inf)
            best = np.minimum(best, us)
    traffic = batch * (m * k + n * k + m * n) * width
    return floor + np.maximum(best,
                              traffic / (bandwidth_gb_s * 1e3 * memory_share))


def random_search(error, start, rng, rounds):
    best, lowest = np.array(start), error(np.array(start))
    for _ in range(rounds):
        mask = rng.random(best.size) < 0.4
        trial = best * np.exp(rng.normal(0, 0.08, best.size) * mask)
        trial[:-3] = np.minimum(trial[:-3], 1)
        trial[-1] = min(trial[-1], 1)
        now = error(trial)
        if now < lowest:
            best, lowest = trial, now
    return best


def fit_gemm(title, shapes, measured, floors, options, rng):
    tiles = options["tiles"]
    bandwidth = options.pop("bandwidth_gb_s")
    depth = options.pop("start_depth")
    sample = rng.choice(measured.size, min(12000, measured.size), replace=False)

    def errors(parameters, index):
        us = gemm_us([s[index] for s in shapes], parameters,
                     bandwidth_gb_s=bandwidth[index], **options)
        return np.abs(np.log(np.maximum(us, floors[index]) / measured[index]))

    start = [.85, .75, .6, .45, .3, .15, depth, 4, .7]
    found = random_search(lambda p: errors(p, sample).mean(), start, rng, 600)
    everything = np.arange(measured.size)
    error = errors(found, everything)
    print(f"{title}: {measured.size} rows, median error "
          f"{np.median(error):.3f}, mean {error.mean():.3f}; above 100 us "
          f"{np.median(error[measured > 100]):.3f}")
    for tile, efficiency in zip(tiles, found):
        print(f"  tile {tile[0]} x {tile[1]}: {efficiency:.2f}")
    print(f"  start as {found[-3]:.0f} elements, floor {found[-2]:.1f} us, "
          f"bandwidth share {found[-1]:.2f}")


def fit_bf16(folder, rng):
    rows = [row for row in published.rows(folder / "gemm_bf16_a100.csv.gz")
            if row["framework"] != "sglang-0.5.9"]  # noisy at all sizes
    m, n, k = (column(rows, name) for name in "mnk")
    measured = column(rows, "latency_ms") * 1e3
    options = {"tiles": TENSOR_TILES, "peak_tflops": 312, "width": 2,
               "start_depth": 60,
               "bandwidth_gb_s": np.full(m.shape, 2039.0)}
    fit_gemm("BF16 products", [np.ones_like(m), m, n, k], measured,
             np.zeros_like(m), options, rng)


def print_short_sums(folder):
    print("large 16-bit products above 100 us, by the least k: signed median error, "
          "with and without the start of a tile (%)")
    for title, table, wanted, peak, bandwidth, sms, mhz in PRODUCT_TABLES:
        rows = [row for row in published.rows(folder / f"{table}.csv.gz")
                if wanted.items() <= row.items() and row["n"] and row["k"]]
        m = column([{"m": row.get("m") or row["num_tokens"]} for row in rows], "m")
        n, k = column(rows, "n"), column(rows, "k")
        measured = column(rows, "latency_ms") * 1e3
        start = START_CYCLES * peak * 1e6 / sms / mhz / (2 * LARGEST_TILE)
        errors = [100 * (gemm_us([np.ones_like(m), m, n, k],
                                 [*TENSOR_EFFICIENCIES, depth, 5.5, .74], TENSOR_TILES,
                                 peak, bandwidth, 2, sms) / measured - 1)
                  for depth in (start, 0)]
        cells = []
        for least, most in zip(SUMS, SUMS[1:]):
            chosen = ((measured > 100) & (np.minimum(m, 2 * n) >= 1024) &
                      (k >= least) & (k < most))
            if chosen.sum() > 5:
                cells.append(f"{least}: " + " ".join(
                    f"{np.median(error[chosen]):+.1f}" for error in errors))
        print(f"  {title:14s} start {start:3.0f} elements;  " + ",  ".join(cells))


def fit_fp32(rows, rng):
    rows = [row for row in rows if row["op"] in ("linear", "bmm")]
    linear = np.array([row["op"] == "linear" for row in rows])
    batch, m, n, k = (column(rows, name) for name in ("batch", "m", "n", "k"))
    m, batch = np.where(linear, m * batch, m), np.where(linear, 1, batch)
    bandwidth = np.array([float(BANDWIDTH_GB_S[row["device"]]) for row in rows])
    # Each call was timed with its launch gap.
    floors = np.where(linear, 54.0, 31.0)
    options = {"tiles": SIMT_TILES, "peak_tflops": 19.5, "width": 4,
               "start_depth": 0,
               "bandwidth_gb_s": bandwidth}
    fit_gemm("FP32 products", [batch, m, n, k],
             column(rows, "latency_ms") * 1e3, floors, options, rng)


def print_narrow_table(title, shapes, measured, call_us, machine):
    """Errors by the smaller of rows and columns, with tiles of one product and of many;
    `call_us` is added to what is predicted."""
    narrow = np.minimum(shapes[1], shapes[2])
    errors = [100 * ((gemm_us(shapes, [*efficiencies, 0, 5.5, .74], tiles, **machine,
                              width=4) + call_us) / measured - 1)
              for efficiencies, tiles in ((SINGLE_EFFICIENCIES, SINGLE_TILES),
                                          (BATCH_EFFICIENCIES, SIMT_TILES))]
    cells = []
    for least, most in zip(NARROW, NARROW[1:]):
        chosen = (narrow > least) & (narrow <= most)
        if chosen.any():
            cells.append(f"{most}: " + " ".join(
                f"{np.median(error[chosen]):+.0f}" for error in errors) +
                f" ({chosen.sum()})")
    print(f"  {title}: " + ",  ".join(cells))


def print_narrow_products(folder, operators):
    print("FP32 products of few rows or columns, by the most of them: signed median "
          "error with tiles of one product and of many (%)")
    linear = [row for row in operators
              if row["op"] == "linear" and row["device"] == "A100-PCIE-40GB"]
    shortest = column(linear, "latency_ms").min() * 1e3
    for title, half in (("A100, fitted half", 0), ("A100, other half", 1)):
        rows = [row for row in linear[half::2]
                if float(row["latency_ms"]) * 1e3 > 5 * shortest]
        batch, m, n, k = (column(rows, name) for name in ("batch", "m", "n", "k"))
        print_narrow_table(title, [np.ones_like(m), m * batch, n, k],
                           column(rows, "latency_ms") * 1e3, shortest / 2,
                           {"peak_tflops": 19.5, "bandwidth_gb_s": 1555})
    table = published.rows(folder / "more" / "ops_deepbench_v100_p100_t4.csv.gz")
    for device, peak, bandwidth, sms in FLOAT_DEVICES:
        rows = [row for row in table if row["device"].startswith(device)
                and row["op"] == "gemm" and row["dtype"] == "fp32"]
        m, n, k = (column(rows, name) for name in "mnk")
        print_narrow_table(device, [np.ones_like(m), m, n, k],
                           column(rows, "latency_ms") * 1e3, 0,
                           {"peak_tflops": peak, "bandwidth_gb_s": bandwidth,
                            "sms": sms})


def print_bandwidth_shares(rows):
    print("share of the peak bandwidth above 300 us (5, 50, 95 %):")
    tensors = {"add": 3, "div": 3, "mul": 3, "pow": 3}
    for op in sorted({row["op"] for row in rows}):
        chosen = [row for row in rows if row["op"] == op and row["cols"]]
        if not chosen:
            continue
        measured = column(chosen, "latency_ms") * 1e3
        peak = np.array([BANDWIDTH_GB_S[row["device"]] for row in chosen]) * 1e3
        traffic = (column(chosen, "rows") * column(chosen, "cols") * 4 *
                   tensors.get(op, 2))
        share = (traffic / measured / peak)[measured > 300]
        print(f"  {op:12s}", *np.percentile(share, [5, 50, 95]).round(2))


def convolution_shapes(rows):
    """Implicit products of a forward pass, and the bytes that it moves at 16
    bits."""
    batch, c_in, height, width, c_out, rows_, columns = (
        column(rows, name) for name in
        ("batch", "in_channels", "height", "width", "out_channels", "filter_h",
         "filter_w"))
    out_height, out_width = (
        (size + 2 * column(rows, pad, 0.0) - window) //
        column(rows, stride) + 1
        for size, pad, window, stride in
        ((height, "pad_h", rows_, "stride_h"),
         (width, "pad_w", columns, "stride_w")))
    m, k = batch * out_height * out_width, c_in * rows_ * columns
    traffic = 2 * (batch * c_in * height * width + m * c_out + k * c_out)
    return [np.ones_like(m), m, c_out, k], traffic


def print_convolutions(folder):
    """Share of the tiled product that DeepBench's 16-bit convolutions reach."""
    table = published.rows(folder / "more" / "ops_deepbench_v100_p100_t4.csv.gz")
    print("16-bit convolutions: best share of a tiled product, median error; "
          "median error at 0.80")
    for device, peak, bandwidth, sms in DEEPBENCH_DEVICES:
        rows = [row for row in table
                if row["device"].startswith(device) and row["op"] == "conv2d"
                and row["dtype"].startswith("fp16 (tensor")
                and row["pass"] == "forward"]
        shapes, traffic = convolution_shapes(rows)
        measured = column(rows, "latency_ms") * 1e3
        product = gemm_us(shapes, [*CONVOLUTION_EFFICIENCIES, 0, 0, np.inf],
                          TENSOR_TILES, peak, bandwidth, 2, sms)
        memory = traffic / (bandwidth * 1e3) / 0.7

        def errors(share):
            return np.abs(np.log(
                (3 + np.maximum(product / share, memory)) / measured))

        best = min(np.arange(0.4, 1.2, 0.05), key=lambda s: errors(s).mean())
        print(f"  {device}: {best:.2f}, {np.median(errors(best)):.2f}; "
              f"{np.median(errors(0.8)):.2f}   ({len(rows)} rows)")


def print_float_convolutions(folder):
    """Share of the tiled product that FP32 convolutions reach before TF32."""
    table = published.rows(
        folder / "more" / "ops_deepbench_v100_p100_t4.csv.gz")
    print("FP32 convolutions above 100 us: share of a tiled product (median)")
    for device, peak, bandwidth, sms in FLOAT_DEVICES:
        rows = [row for row in table
                if row["device"].startswith(device) and row["op"] == "conv2d"
                and row["dtype"] == "fp32" and row["pass"] == "forward"]
        shapes, _ = convolution_shapes(rows)
        measured = column(rows, "latency_ms") * 1e3
        product = gemm_us(shapes, [*CONVOLUTION_EFFICIENCIES, 0, 0, np.inf],
                          TENSOR_TILES, peak, bandwidth, 4, sms)
        window, stride = column(rows, "filter_h"), column(rows, "stride_h")
        for edge, step in ((1, 1), (1, 2), (3, 1), (5, 2)):
            chosen = (window == edge) & (stride == step) & (measured > 100)
            print(f"  {device}, {edge} x {edge}, stride {step}: "
                  f"{np.median((product / measured)[chosen]):.2f}   "
                  f"({chosen.sum()} rows)")


def print_reductions(folder):
    table = published.rows(folder / "more" / "ops_power_flagperf_a100.csv")
    rows = [row for row in table if row["op"] in ("mean", "max", "min")]
    width = np.array([4 if row["dtype"] == "fp32" else 2 for row in rows])
    share = (2 ** 30 * width / column(rows, "kernel_latency_us") /
             (BANDWIDTH_GB_S["A100-PCIE-40GB"] * 1e3))
    print(f"reductions of 2^30 elements on A100 40 GB: share of the bandwidth "
          f"{share.min():.2f} to {share.max():.2f}")


def print_attention(folder):
    rows = [row for row in published.rows(folder / "attention_bf16_a100.csv.gz")
            if row["phase"] == "context" and not row["window_size"]
            and row["kv_cache_dtype"] == "bfloat16"]
    length = column(rows, "input_seq_len")
    measured = column(rows, "latency_ms") * 1e3
    # Causal: half the products, plus the tiles on the diagonal.
    flops = (2 * column(rows, "batch") * column(rows, "num_heads") *
             column(rows, "head_dim") * length * (length + 128))
    share = flops / measured / 312e6
    print("attention above 200 us: keys, share of the peak, 0.62 k / (k + 250)")
    for keys in (128, 256, 512, 1024, 2048, 4096, 8192, 16384):
        chosen = (length == keys) & (measured > 200)
        print(f"  {keys:6d} {np.median(share[chosen]):.2f} "
              f"{0.62 * keys / (keys + 250):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path,
                        default=published.TABLES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    published.need(options.data / "ops_fp32_a100.csv.gz")
    rng = np.random.default_rng(options.seed)
    operators = published.rows(options.data / "ops_fp32_a100.csv.gz")
    fit_bf16(options.data, rng)
    print_short_sums(options.data)
    fit_fp32(operators, rng)
    print_narrow_products(options.data, operators)
    print_bandwidth_shares(operators)
    print_reductions(options.data)
    print_convolutions(options.data)
    print_float_convolutions(options.data)
    print_attention(options.data)


if __name__ == "__main__":
    main()
