"""KernelBench's problems: what was published of them, and what is predicted.

    for table, truths in kernelbench.tables().items():
        told = kernelbench.predictions(folder)[table.setup].latencies(table.device)

Single operators (level 1), chains of them (level 2) and networks (level 3) in FP32
(`kernelbench_pt2.tar.xz`, `compile_kernelbench.csv.gz` of ../shared; KernelBench, MIT).
A table is what one machine published: a device at a commit. The sizes
of January 2025 and of July 2025 are two sets; those of December are July's. Tables of
commits whose sizes were not exported are left out. PyTorch's version is the one that
KernelBench's requirements pin at the commit, 2.5 until July and 2.9 in December. One
problem has inputs in 16 bits, which its export does not say, and one was rewritten in
December.

KernelBench never calls eval(), so batch norms compute the statistics of the batch, which
the exports do not. In eager mode what that adds to the GPU's time is added to every step
that the GPU bounds. With --runtime and --host, what it adds to the step there: further
kernels wait for the host as well.
"""

import collections
import csv
import pathlib
import re
import tempfile
import typing

import foretell
import published

EXPORTS = published.MODELS / "kernelbench_pt2.tar.xz"
LATENCIES = published.TABLES / "runs2026" / "compile_kernelbench.csv.gz"
# The devices of the tables that foretell has, by their names there.
DEVICES = {"NVIDIA A100-SXM4-40GB": "a100-sxm4-40gb",
           "NVIDIA A100-SXM4-80GB": "a100-sxm4-80gb",
           "NVIDIA H100 80GB HBM3": "h100-sxm5-80gb",
           "NVIDIA H100 PCIe": "h100-pcie-80gb"}
L40S = {"NVIDIA L40S": "l40s"}
# Sizes of the exports by commit of the tables, as the tables' README has them.
SIZES = {"47f78d7f": "v2501", "a6dea99e": "v2501", "a147f37d": "v2501",
         "01cad80a": "v2501", "181539ee": "v2507", "1f8d20fa": "v2507"}
TORCH = collections.defaultdict(lambda: "2.5", {"1f8d20fa": "2.9"})
REWRITTEN = {("1f8d20fa", "92_cumsum_exclusive")}
HALF_PROBLEM = "97_ScaledDotProductAttention"
EAGER = "eager"
COMPILE = "torch.compile inductor_"  # Before the mode, in the tables.
KNOWN_STATISTICS = re.compile(r"(= batch_norm\([^)]*\) \{)training=false")
US_PER_MS = 1000


class Table(typing.NamedTuple):
    """What one machine published."""
    device: str
    commit: str

    @property
    def sizes(self):
        return SIZES[self.commit]

    @property
    def torch(self):
        return TORCH[self.commit]

    @property
    def setup(self):
        """What its predictions depend on but for the device."""
        return self.sizes, self.torch


def tables(devices=DEVICES):
    """Milliseconds by level and problem, by mode, by table; `devices` maps the
    tables' names to foretell's."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in published.rows(LATENCIES):
        mode = row["runtime"].removeprefix(COMPILE)
        key = row["level"], row["problem"].removesuffix(".py")
        if (row["device"] in devices and row["commit"] in SIZES and
                (row["commit"], key[1]) not in REWRITTEN and
                (mode == EAGER or mode != row["runtime"])):
            table = Table(devices[row["device"]], row["commit"])
            found[table][mode][key] = float(row["latency_ms"])
    return dict(sorted(found.items()))


def exports():
    """The folder of the problems' files, while the context lasts."""
    return published.unpacked(EXPORTS, inside="v2507")


def problem_of(file):
    """Level and problem."""
    return tuple(pathlib.Path(file).stem.split("__", 1))


def graphs_us(graphs, device, *flags):
    """Of each graph: the GPU's time, or the step's with --host."""
    with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
        file.writelines(graphs)
        file.flush()
        return foretell.run_json("time-operators", file.name, "--device", device, *flags)


def with_statistics(graph, counts):
    """The graph with those of the batch and, if `counts`, the counts of batches, each
    of which PyTorch raises by a kernel."""
    graph, _, _ = KNOWN_STATISTICS.sub(r"\1training=true", graph).partition("timeline\n")
    names = re.findall(r"(?m)^(%\S+\.num_batches_tracked) = buffer", graph)
    raised = "".join(f"%count.{place} = add_({name}) : i64[] alias {name}\n"
                     for place, name in enumerate(names if counts else ()))
    before, output, after = graph.partition("\noutput ")
    return f"{before}\n{raised.rstrip()}{output}{after}"


class Predictions:
    """Of the problems of one set of sizes, below a folder of `exports`, by one version
    of PyTorch."""

    def __init__(self, folder, sizes, torch):
        self.torch = ("--torch", torch)
        self.files = sorted(str(path) for path in folder.rglob("*.pt2")
                            if path.parent.name == sizes)
        self.graphs = self._normed_graphs()
        self.added = {}

    def _normed_graphs(self):
        """Text of the graph of each problem with batch norms of known statistics."""
        text = foretell.run("inspect", *self.files, *self.torch, "--format", "graph",
                            "--sandbox", "off",
                            accept=(foretell.DONE, foretell.MODEL_FAILED))
        graphs = re.split(r"(?m)^(?=graph \")", text)
        return {problem_of(graph.split('"', 2)[1]): graph for graph in graphs
                if KNOWN_STATISTICS.search(graph)}

    def statistics_ms(self, device, *flags):
        """What the statistics of the batch add to the times of graphs_us, by problem."""
        key = (device, *flags)
        if key not in self.added:
            known = graphs_us(self.graphs.values(), *key, *self.torch)
            computed = graphs_us((with_statistics(graph, "--host" in flags)
                                  for graph in self.graphs.values()), *key, *self.torch)
            self.added[key] = {
                problem: (more - less) / US_PER_MS for problem, more, less
                in zip(self.graphs, computed, known)}
        return self.added[key]

    def rows(self, device, *flags):
        """Rows of `predict --csv` with a latency, by level and problem: times are
        numbers, with the statistics of batch norms; of `flags` with --host, and perhaps
        --runtime, latency_ms alone."""
        found = {}
        for is_half, precision in ((False, ()), (True, ("--precision", "fp16"))):
            files = [file for file in self.files
                     if (problem_of(file)[1] == HALF_PROBLEM) == is_half]
            text = files and foretell.run(
                "predict", *files, "--device", device, *self.torch, *precision, *flags,
                "--method", "analytic", "--csv", "--sandbox", "off",
                accept=(foretell.DONE, foretell.DOES_NOT_FIT, foretell.MODEL_FAILED))
            found |= {problem_of(row["model"]): row
                      for row in csv.DictReader((text or "").splitlines())
                      if row["latency_ms"]}
        if "--host" in flags:
            added = self.statistics_ms(device, *flags)
            return {key: row | {"latency_ms":
                                float(row["latency_ms"]) + added.get(key, 0)}
                    for key, row in found.items()}
        added = self.statistics_ms(device)
        return {key: row | _with_gpu_time(row, added.get(key, 0))
                for key, row in found.items()}

    def host_factor(self, device):
        """That of the device's default host."""
        (result,) = foretell.run_json("predict", self.files[0], "--device", device,
                                      "--json")["results"]
        return result["latency"]["host_factor"]

    def latencies(self, device, *flags):
        """Milliseconds by level and problem."""
        return {key: row["latency_ms"] for key, row in self.rows(device, *flags).items()}


def _with_gpu_time(row, added):
    """The times of a row as numbers, with milliseconds `added` to the GPU's."""
    times = {name: float(row[name]) for name in
             ("latency_ms", "latency_lo_ms", "latency_hi_ms", "gpu_ms", "dispatch_ms")}
    latency = times["latency_ms"]
    scale = 1 + added / latency if row["latency_bound"] == "gpu" else 1
    return times | {name: scale * times[name] for name in
                    ("latency_ms", "latency_lo_ms", "latency_hi_ms")} | {
        "gpu_ms": times["gpu_ms"] + added}


def predictions(folder):
    """By setup of a table, of the problems below a folder of `exports`."""
    return {setup: Predictions(folder, *setup)
            for setup in sorted({Table("", commit).setup for commit in SIZES})}
