#!/usr/bin/env python3
"""Compares decode steps of language models with published serving on an H100.

    scripts/published/score_serving.py [--runs]

Reads ml-energy's table of vLLM on one GPU from ../shared beside the repository: the
median time between two tokens of a request, and the energy per token, by the mean number
of requests that run at a time. Taken are reasoning tasks (GPQA), whose answers of
thousands of tokens leave little but decoding: a step is predicted as decoding that many
sequences whose caches hold half of a mean answer. vLLM replays CUDA graphs and fuses
what is little: of PyTorch's step what waits for the host and what is bound by launches
is left out, and the rest has the step's power. Prints in Markdown, per network and
device: rows, median and mean absolute error and the signed median, in percent, of time
and energy; `--runs` prints each. No constant was fitted to these rows, but they chose
between two shares of the bandwidth that fit Hopper's products equally well
(kernel_time.cc).

Left out are B200's rows (30 to 40 ms per token whatever the batch: its host waits),
chats, whose steps hold prompts of other requests, pictures, mixtures of experts, and
networks that the zoo lacks.
"""

import argparse
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import host_factor
import published

TABLE = published.TABLES / "more" / "llm_serving_energy_h100_b200.csv"
DEVICES = {"H100": "h100-sxm5-80gb"}
MODELS = {"Qwen/Qwen3-8B": "qwen3_8b", "Qwen/Qwen3-14B": "qwen3_14b"}
TASK = "gpqa"
NO_HOST = 0.01  # The least factor that `--host` takes.


def predict(row, host):
    """Milliseconds of a step's products and traffic, and joules per token."""
    batch = max(1, round(float(row["avg_batch_size"])))
    cache = round(float(row["avg_output_len"]) / 2)
    result = foretell.run_json(
        "predict", f"zoo:{MODELS[row['model']]}", "--phase", "decode", "--cache",
        cache, "--batch", batch, "--precision", "bf16", "--device",
        DEVICES[row["device"]], "--method", "analytic", "--host", host,
        "--json")["results"][0]
    latency = result["latency"]
    ms = latency["compute_ms"] + latency["memory_ms"]
    return ms, result["energy"]["average_power_w"] * ms / 1e3 / batch


def errors_of(rows, host, shows_each):
    """Errors in percent of time and energy, by network and device."""
    groups = collections.defaultdict(list)
    for row in rows:
        ms, joules = predict(row, host)
        measured = float(row["median_itl_ms"]), float(row["energy_per_token_j"])
        if shows_each:
            print(f"{row['device']}, {row['model']}, {row['avg_batch_size']} requests: "
                  f"{ms:.1f} / {measured[0]:.1f} ms, "
                  f"{joules:.4f} / {measured[1]:.4f} J")
        groups[row["model"], DEVICES[row["device"]]].append(
            (ms / measured[0] - 1, joules / measured[1] - 1))
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", action="store_true", help="print each run too")
    options = parser.parse_args()
    published.need(TABLE)
    rows = [row for row in published.rows(TABLE) if row["model"] in MODELS
            and row["task"] == TASK and row["device"] in DEVICES]
    with tempfile.TemporaryDirectory() as folder:
        host = host_factor.write_host(pathlib.Path(folder), NO_HOST)
        groups = errors_of(rows, host, options.runs)
    print("| network | device | rows | time of a token | energy of a token |\n"
          "|---|---|---|---|---|")
    for (model, device), pairs in sorted(groups.items()):
        times, energies = zip(*pairs)
        print(f"| {model} | {device} | {len(pairs)} | "
              f"{published.error_cells(times, ' / ')} | "
              f"{published.error_cells(energies, ' / ')} |")


if __name__ == "__main__":
    foretell.main(main)
