"""Published latencies and energies with their analytic predictions, of many sources.

    for row in interval_rows.kept(options): row.residual

Of score_a100.py (with the zoo's rows), kernelbench.py, score_energy.py (clean
rows), score_field_reports.py (times of one GPU), timm's throughput on four GPUs and
the forward operators of score_kinds.py (GPU time alone).
`options.networks` is a folder of score_field_reports.py's exports or None, every
`options.every`-th row of timm is taken, and `options.rows` is a file that keeps the
rows, or None. Needs torch.
"""

import argparse
import collections
import dataclasses
import functools
import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "published"))
import energy_runs  # noqa: E402
import foretell  # noqa: E402
import host_factor  # noqa: E402
import kind_graphs  # noqa: E402
import kernelbench  # noqa: E402
import latency_labels  # noqa: E402
import make_label_set  # noqa: E402
import published  # noqa: E402
import score_a100  # noqa: E402
import score_energy  # noqa: E402
import score_field_reports  # noqa: E402
import score_kinds  # noqa: E402
import zoo_rows  # noqa: E402

HOPPER = 90  # Its compute capability; src/host/published_hosts.cc divides there.
INSPECTED = "a100-sxm4-80gb"  # On it, operators' shares of the time are taken.
CHUNK = 40
TIMM_DEVICES = {"RTX-3090": "rtx-3090", "RTX-4090": "rtx-4090", "RTX-5090": "rtx-5090",
                "RTX-PRO-6000-MaxQ": "rtx-pro-6000-maxq"}
ANALYTIC = ("--method", "analytic")
# Of src/cost.
WORK = ("moving", "product", "plain_convolution", "convolution", "unusual_convolution",
        "rare_convolution")
# As src/answer/interval_width.cc divides operators: some by their length.
LONG_US = 1000
SHORT = "short "
KINDS = (*WORK, *(SHORT + work for work in WORK[:2]))
LEAST_US = 20  # Shorter kernels say how long a launch takes.


@functools.cache
def compute_capability(device):
    path = foretell.ROOT / "data" / "devices" / f"{device}.json"
    return json.loads(path.read_text())["compute_capability"]


@dataclasses.dataclass
class Row:
    """A published run with its prediction."""
    source: str
    quantity: str  # "latency" or "energy".
    device: str
    mode: str
    precision: str
    measured: float
    predicted: float
    gpu_ms: float = 0       # With the next, 0 of energy.
    dispatch_ms: float = 0
    low: float = 0  # With the next the printed interval; 0 of a slice, which has none.
    high: float = 0
    is_slice: int = 0
    host_factor: float = 1  # At which it is predicted.
    # Of problems of few operators: by kind, the sums of squares of their operators'
    # shares of GPU time, as JSON.
    shares: str = ""

    @property
    def residual(self):
        return math.log(self.measured / self.predicted)

    def on_host(self, factor):
        """About the latency where the CPU takes `factor` times as long."""
        longest = max(self.gpu_ms, self.dispatch_ms)
        return (max(self.gpu_ms, factor * self.dispatch_ms) +
                factor * max(0, self.predicted - longest))

    @functools.cached_property
    def squares(self):
        return json.loads(self.shares or "{}")

    @property
    def is_benchmark(self):
        """Whether it is a problem of few operators."""
        return self.is_operator or self.source.startswith("kernelbench")

    @property
    def is_operator(self):
        """Whether it is the GPU time of one operator, measured for this project."""
        return self.source.startswith("operators")

    @property
    def has_older_host(self):
        return compute_capability(self.device) < HOPPER

    @property
    def is_host_bound(self):
        return self.on_host(2) / self.predicted - 1 > host_factor.HOST_BOUND

    def host_logs(self, factors):
        """Logarithms of the ratios to a faster and to a slower host."""
        below, above = factors
        return (math.log(self.predicted / self.on_host(1 / below)),
                math.log(self.on_host(above) / self.predicted))


def latency_row(source, device, mode, precision, measured, result, ms=None):
    """`ms` is that of a slice, whose own GPU time is not printed."""
    latency = result["latency"]
    gpu_ms, dispatch_ms = latency["gpu_ms"], latency["dispatch_ms"]
    if ms and ms > 1.1 * dispatch_ms:
        gpu_ms = ms
    return Row(source, "latency", device, mode, precision, float(measured),
               ms or latency["ms"], gpu_ms, dispatch_ms,
               *((0, 0) if ms else latency["interval_ms"]), int(ms is not None),
               latency["host_factor"])


def predicted_runs(rows):
    """Rows in the columns of a100_runs.csv."""
    with published.unpacked(score_a100.TRACES, "*.pt") as traces:
        predictions = score_a100.Predictions(traces, {1.0: None}, rows)
        for row in rows:
            result = predictions.of(row, 1.0)
            ms = score_a100.latency_of(result, row) if row["slice"] else None
            made = latency_row(score_a100.host_of(row), row["device"], row["mode"],
                               row["precision"], row["latency_ms"], result, ms)
            copied = 0 if ms else score_a100.copy_ms(row)
            yield dataclasses.replace(made, predicted=made.predicted + copied,
                                      gpu_ms=made.gpu_ms + copied)


def a100_rows(_):
    return predicted_runs(
        [row for row in [*published.rows(score_a100.RUNS), *zoo_rows.rows()]
         if row["latency_ms"]])


def documents(text):
    """JSON documents, one after another."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at + len(text[at:]) -
                                          len(text[at:].lstrip()))
        yield document


def kind_of(work, us):
    short = SHORT + work
    return short if us < LONG_US and short in KINDS else work


def squares(cost):
    """By kind, the sum of squares of the operators' shares of GPU time."""
    whole = sum(node["gpu_us"] for node in cost) or 1
    found = collections.Counter()
    for node in cost:
        found[kind_of(node["work"], node["gpu_us"])] += (node["gpu_us"] / whole) ** 2
    return json.dumps(found)


def squares_of(files):
    """By problem."""
    found = {}
    for at in range(0, len(files), CHUNK):
        chunk = files[at:at + CHUNK]
        text = foretell.run("inspect", *chunk, "--format", "json", "--device",
                            INSPECTED, "--sandbox", "off",
                            accept=(foretell.DONE, foretell.MODEL_FAILED))
        for document in documents(text):
            found[kernelbench.problem_of(document["graph"]["name"])] = squares(
                document["cost"])
    return found


def kernelbench_rows(_, devices=kernelbench.DEVICES):
    with kernelbench.exports() as folder:
        told = kernelbench.predictions(folder)
        shares = {setup: squares_of(one.files) for setup, one in told.items()}
        for table, modes in kernelbench.tables(devices).items():
            factor = told[table.setup].host_factor(table.device)
            truths = modes[kernelbench.EAGER]
            for key, row in told[table.setup].rows(table.device).items():
                if key in truths:
                    yield Row(f"kernelbench {table.commit}, {table.device}", "latency",
                              table.device, "inference", "fp32", truths[key],
                              *(row[name] for name in
                                ("latency_ms", "gpu_ms", "dispatch_ms")),
                              row["latency_lo_ms"], row["latency_hi_ms"], 0, factor,
                              shares[table.setup].get(key, ""))


def operator_rows(_):
    """Operators at awkward extents; of one operator there is no interval of a host."""
    for name, (device, files) in score_kinds.SETS.items():
        rows = [row for file in files for row in kind_graphs.measured(
                    score_kinds.LABELS / device / f"{file}.jsonl.gz", LEAST_US)
                if row["pass"] == "forward"]
        for _, (us, work), row in score_kinds.predict(device, rows, "--work"):
            yield Row(f"operators {name}, {device}", "latency", device, "inference",
                      "fp32", row["gpu_us"] / 1e3, us / 1e3, us / 1e3,
                      shares=json.dumps({kind_of(work, us): 1}))


def energy_rows(_):
    runs = [run for source in energy_runs.SOURCES for run in source()
            if not run.unclean]
    for run, figures in score_energy.predictions_of(runs):
        about = (run.flags[run.flags.index("--device") + 1],
                 "training" if "training" in run.flags else "inference",
                 "fp16" if "fp16" in run.flags else "fp32")
        if run.latency_ms:
            yield Row(run.group, "latency", *about, run.latency_ms,
                      *(figures[name] for name in
                        ("latency_ms", "gpu_ms", "dispatch_ms")),
                      *figures["interval_ms"], 0, figures["host_factor"])
        if run.energy_j:
            yield Row(run.group, "energy", *about, run.energy_j, figures["energy_j"],
                      0, 0, *figures["interval_j"])


def field_rows(options):
    """Times of one GPU."""
    folder = options.networks or pathlib.Path()
    predictor = score_field_reports.Predictor(folder)
    for row in published.rows(score_field_reports.REPORTS):
        if row["kind"] != "ms" or score_field_reports.why_not(row):
            continue
        words = score_field_reports.words_of(row)
        is_there = words[1].startswith("zoo:") or (folder / words[1]).exists()
        if not is_there or "--parallel" in words:
            continue
        try:
            result = predictor.result((*predictor.words(row), *ANALYTIC))
        except foretell.Failure as failure:
            print(f"{row['id']}: {failure}", file=sys.stderr)
            continue
        precision = "autocast" if "--autocast" in words else result["precision"]
        yield latency_row(row["source"], result["device"], result["mode"],
                          precision, row["value"], result)


def has_half_norms(row, path):
    """Whether timm's benchmark.py ran norms of the network in 16 bits, which no flag
    of predict says; ONNX writes a group norm as one of instances."""
    (row,) = make_label_set.with_norm_types([row])
    return row["layer_norm"] == "half" or (
        row["group_norm"] == "half" and b"InstanceNormalization" in path.read_bytes())


def timm_rows(options):
    """Inference under autocast of the networks as they were exported."""
    with published.unpacked(published.ONNX_NETWORKS) as folder:
        rows = make_label_set.without_other_networks(published.THROUGHPUT,
                                                     published.truth(folder))
        sizes = latency_labels.edges(folder)
        rows = [row for row in rows if row["mode"] == "inference" and
                row["memory_format"] == "nchw" and
                sizes.get(row["model"]) == int(row["img_size"])]
        for row in rows[::options.every]:
            path, device = folder / f"{row['model']}.onnx", TIMM_DEVICES[row["device"]]
            version = re.search(r"\d+\.\d+", row["framework"])[0]
            if not path.exists() or has_half_norms(row, path):
                continue
            try:
                (result,) = foretell.run_json(
                    "predict", path, "--batch", row["batch"], "--autocast",
                    "--precision", "fp16", "--torch", version, "--device", device,
                    *ANALYTIC, "--json")["results"]
            except foretell.Failure:  # Its batch is baked in.
                continue
            yield latency_row(f"timm, {device}", device, "inference", "autocast",
                              row["latency_ms"], result)


SOURCES = (a100_rows, kernelbench_rows, operator_rows, energy_rows, field_rows,
           timm_rows)


def options(doc):
    """Those of a script that takes these rows; `doc` is its own description."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=15)
    parser.add_argument("--networks", type=pathlib.Path)
    parser.add_argument("--answers", type=pathlib.Path)
    found = parser.parse_args()
    published.need(published.TABLES, published.MODELS)
    return found


def kept(options, sources=SOURCES):
    """Those of the file, or collected from `sources` and written to it."""
    return published.kept(options.rows, Row, lambda: (
        row for source in sources for row in source(options)))
