#!/usr/bin/env python3
"""Fits the factors of TensorRT's engines, and says how good they are left out.

    scripts/published/fit_tensorrt.py [--write]

Takes the published latencies of tensorrt_published.csv.gz whose networks the zoo has, and
the GPU times that `predict --runtime tensorrt` gives, divided by today's factors. Of a
page that lists two GPUs under one heading, rows beyond twice the fastest of their
configuration are left out. A factor is fitted to the median of a configuration, by
absolute errors of logarithms: one by generation of GPU, one each for INT8, sparse weights
and networks with convolutions in groups. Prints in Markdown the error in percent by model
and by GPU, first of the fit to all and then of a fit without it, and the factors that
hold 90 % of the rows of GPUs left out (kEngine of src/answer/interval_width.cc).
--write replaces the factors of data/tensorrt.json. score_mlperf.py judges them.
"""

import argparse
import collections
import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

ROWS = published.TABLES / "runs2026" / "tensorrt_published.csv.gz"
FACTORS = foretell.ROOT / "data" / "tensorrt.json"
MODELS = {"bert-base": "bert_base", "bert-large": "bert_large",
          "megatron-large-sparse": "bert_large",
          "inception: Inception-v3": "inception_v3",
          "mobilenet: MobileNet-v2": "mobilenet_v2",
          "efficientnet: EfficientNet-B0": "efficientnet_b0",
          "efficientnet: EfficientNet-B3": "efficientnet_b3"}
GROUPED = ("mobilenet", "efficientnet")
RUNTIMES = {"fp16": "tensorrt", "fp32 (tf32)": "tensorrt", "int8": "tensorrt,int8",
            "int8 PTQ": "tensorrt,int8", "int8 QAT": "tensorrt,int8",
            "int8 2:4 sparse": "tensorrt,int8,sparse"}
DEVICES = {"A100": ("a100-sxm4-40gb", "ampere"),
           "A100-40GB": ("a100-sxm4-40gb", "ampere"), "A30": ("a30", "ampere"),
           "L40S": ("l40s", "ada"), "T4": ("t4", "turing"),
           "V100-16GB": ("v100-sxm2-16gb", "volta")}
TERMS = ("ampere", "ada", "turing", "volta", "int8", "sparse", "grouped_convolutions")
# Rows beyond this multiple of the fastest are of another GPU.
OTHER_GPU = 2
BEYOND = 0.05


class Configuration:
    """Rows of one network, precision, batch and GPU."""
    def __init__(self, row, rows):
        fastest = min(rows)
        self.rows = [ms for ms in rows if ms <= OTHER_GPU * fastest]
        self.model, self.gpu = row["model"], row["device"]
        self.device, generation = DEVICES[row["device"]]
        self.runtime = RUNTIMES[row["precision"]]
        self.flags = ("--runtime", self.runtime, "--device", self.device)
        if "tf32" not in row["precision"]:
            self.flags += ("--precision", "fp16")
        if row["seq_len"]:
            self.flags += ("--seq-len", row["seq_len"])
        self.batch = row["batch"]
        self.terms = {generation}
        if "sparse" in self.runtime:
            self.terms.add("sparse")
        elif "int8" in self.runtime:
            self.terms.add("int8")
        if self.model.startswith(GROUPED):
            self.terms.add("grouped_convolutions")

    @property
    def run(self):
        return f"zoo:{MODELS[self.model]}", self.flags, self.batch

    def log_factor(self, logs):
        return sum(logs[term] for term in self.terms)

    def errors(self, logs):
        """Measured over predicted, by row."""
        return [ms / (self.plain_ms * math.exp(self.log_factor(logs)))
                for ms in self.rows]


def configurations():
    groups = collections.defaultdict(list)
    firsts = {}
    for row in published.rows(ROWS):
        if row["model"] not in MODELS or row["precision"] not in RUNTIMES:
            continue
        key = tuple(row[name] for name in ("device", "model", "precision", "batch",
                                           "seq_len"))
        groups[key].append(float(row["latency_ms"]))
        firsts[key] = row
    return [Configuration(firsts[key], rows) for key, rows in groups.items()]


def known_logs():
    """The logarithms of the factors that the program has."""
    table = json.loads(FACTORS.read_text())
    factors = {**table["generations"], **table}
    return {term: math.log(factors[term]) for term in TERMS}


def predict(found):
    logs = known_logs()
    results = batched.Results(one.run for one in found)
    for one in found:
        gpu_ms = results.of(*one.run)["latency"]["gpu_ms"]
        one.plain_ms = gpu_ms / math.exp(one.log_factor(logs))


def fit(found):
    """Logarithms by term that minimise the sum of absolute errors, term by term."""
    logs = dict.fromkeys(TERMS, 0.0)
    wanted = [(one, math.log(statistics.median(one.rows) / one.plain_ms))
              for one in found]
    for _ in range(200):
        for term in TERMS:
            rest = [log - one.log_factor(logs) + logs[term]
                    for one, log in wanted if term in one.terms]
            if rest:
                logs[term] = statistics.median(rest)
    if not any("sparse" in one.terms for one in found):
        logs["sparse"] = logs["int8"]
    ampere = logs["ampere"]
    seen = {term for one in found for term in one.terms}
    for generation in TERMS[:4]:
        if generation not in seen:
            logs[generation] = ampere
    return logs


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_errors(found, name, logs):
    """Returns the errors of all rows, each by a fit without its group."""
    print(f"| {name} | rows | median | mean | left out: median | mean |")
    print("|---|---|---|---|---|---|")
    all_errors = []
    for group in sorted({getattr(one, name) for one in found}):
        inside = [one for one in found if getattr(one, name) == group]
        without = fit([one for one in found if getattr(one, name) != group])
        cells = []
        for chosen in (logs, without):
            errors = [error for one in inside for error in one.errors(chosen)]
            shares = [100 * abs(1 / error - 1) for error in errors]
            cells += [f"{statistics.median(shares):.1f}",
                      f"{statistics.mean(shares):.1f}"]
        all_errors += errors
        print(f"| {group} | {len(errors)} | {' | '.join(cells)} |")
    print()
    return all_errors


def write(logs):
    table = json.loads(FACTORS.read_text())
    factors = {term: round(math.exp(log), 3) for term, log in logs.items()}
    table["generations"] = {term: factors[term] for term in table["generations"]}
    table["other_generations"] = factors["ampere"]
    for term in ("int8", "sparse", "grouped_convolutions"):
        table[term] = factors[term]
    text = json.dumps(table, indent=2)
    FACTORS.write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    published.need(ROWS)
    found = configurations()
    predict(found)
    logs = fit(found)
    print_errors(found, "model", logs)
    errors = print_errors(found, "gpu", logs)
    below, above = quantile(errors, BEYOND), quantile(errors, 1 - BEYOND)
    print(f"kEngine = {{{1 / below:.2f}, {above:.2f}}}")
    print(", ".join(f"{term} {math.exp(log):.3f}" for term, log in logs.items()))
    if arguments.write:
        write(logs)


if __name__ == "__main__":
    main()
