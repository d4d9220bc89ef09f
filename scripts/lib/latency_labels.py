"""Published and own latencies of whole steps, as labels of a dataset.

    for label in latency_labels.a100(traces): label.source, label.latency_ms

`a100` has score_a100.py's runs, `kernelbench` those of kernelbench.py, `timm_training` the
steps beside timm's inference, `own` datasets/labels. Networks of the zoo are left out: a
dataset's points are files or sweeps. A slice of an A100 is a device of its own, whose file
`write_slices` writes. Times of copying inputs are subtracted (score_a100.copy_ms).
"""

import csv
import dataclasses
import gzip
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "published"))
import foretell  # noqa: E402
import kernelbench as problems  # noqa: E402
import published  # noqa: E402
import score_a100  # noqa: E402

DEVICES = foretell.ROOT / "data" / "devices"
OWN = {"h100-sxm5-80gb": "networks.jsonl.gz", "h200-sxm-141gb": "compile.jsonl.gz"}
# What the rows of `own` call a run: the point's precision, and whether autocast.
OWN_PRECISION = {"fp32": ("fp32", False), "fp16_autocast": ("tf32", True),
                 "bf16_autocast": ("tf32", True), "bf16": ("bf16", False),
                 "fp16": ("fp16", False)}
A100 = "a100-sxm4-40gb"  # Any device.
TRAINING_EVERY = 3  # A training step takes seconds to trace.
OWN_TORCH = "2.11"


@dataclasses.dataclass(frozen=True)
class Label:
    """A measured step: the point that it is joined to, and how it ran."""
    source: str
    path: str        # Of the model's file, or of a folder of files.
    model: str       # Its name in the dataset.
    device: str
    latency_ms: float
    torch: str
    batch: int
    inputs: tuple = ()        # What --input takes, with a batch of 1.
    mode: str = "inference"
    precision: str = "fp32"
    optimizer: str = ""       # In training alone.
    autocast: bool = False
    grad: bool = False
    channels_last: bool = False
    half_norms: bool = False  # Group norms and timm's own layer norms, --fast-norm.

    @property
    def point(self):
        """What its point is generated with, apart from model and batch."""
        return self.inputs, self.mode, self.precision, self.optimizer

    def row(self):
        """Fields of `dataset import`."""
        return {"model": self.model, "batch": self.batch, "mode": self.mode,
                "precision": self.precision, "optimizer": self.optimizer,
                "device": self.device, "latency_ms": self.latency_ms,
                "environment.torch": self.torch,
                "environment.autocast": str(self.autocast).lower(),
                "environment.grad_mode": str(self.grad).lower(),
                "environment.memory_format":
                    "channels_last" if self.channels_last else "contiguous",
                **{f"environment.{norm}_norm": "half" if self.half_norms else "float"
                   for norm in ("group", "layer")}}


def slice_name(device, profile):
    return f"{device}.{profile}" if profile else device


def write_slices(folder, names):
    """Device files of the slices among the devices `names`: `paths`, written."""
    paths = []
    for name in sorted(names):
        device, _, profile = name.partition(".")
        if not profile:
            continue
        spec = json.loads((DEVICES / f"{device}.json").read_text())
        part = next(one for one in spec["mig"]["profiles"] if one["name"] == profile)
        share = part["sms"] / spec["sms"]
        spec |= {"name": name, "aliases": [], "display_name": name,
                 "sms": part["sms"],
                 "bandwidth_gb_s": spec["bandwidth_gb_s"] *
                 part["bandwidth_fraction"],
                 "peak_tflops": {precision: peak * share for precision, peak in
                                 spec["peak_tflops"].items()}}
        del spec["mig"]
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(spec))
    return paths


def a100_point(row, traces):
    """Path, name and inputs of a run's network."""
    inputs = tuple(re.sub(r"\[\d+", "[1", one) for one in row["inputs"].split(";"))
    shape = re.search(r"\[1,?(.*)\]", inputs[0])[1].replace(",", "x")
    return (str(traces / row["trace"]),
            f"{row['trace'].removesuffix('.pt')}-{shape}", inputs)


def a100(traces):
    for row in published.rows(score_a100.RUNS):
        if not row["latency_ms"]:
            continue
        latency_ms = float(row["latency_ms"]) - score_a100.copy_ms(row)
        autocast = row["precision"] == "autocast"
        is_training = row["mode"] == "training"
        path, model, inputs = a100_point(row, traces)
        yield Label(
            source=row["source"], path=path, model=model, inputs=inputs,
            device=slice_name(row["device"], row["slice"]), latency_ms=latency_ms,
            torch=score_a100.torch_of(row), batch=int(row["batch"]),
            mode=row["mode"], precision="tf32" if autocast else row["precision"],
            optimizer=(score_a100.OPTIMIZER.get(row["trace"], "adamw")
                       if is_training else ""),
            autocast=autocast, grad=score_a100.RECORDED in row["latency_kind"])


def problem_name(level, problem, sizes):
    """Begins with letters of its own, which are its family: a level-3 problem's are
    the network's."""
    number, _, words = problem.lower().partition("_")
    letters = words if level == "level3" else re.sub("[^a-z]", "", words)
    return f"{letters}-{level}-{number}-{sizes}"


def kernelbench(exports):
    """Of the problems whose inputs begin with one batch, which is the file's."""
    told = {setup: one.rows(A100)
            for setup, one in problems.predictions(exports).items()}
    for table, modes in problems.tables().items():
        for (level, problem), ms in sorted(modes[problems.EAGER].items()):
            row = told[table.setup].get((level, problem))
            if row:
                yield Label("kernelbench", row["model"],
                            problem_name(level, problem, table.sizes), table.device, ms,
                            table.torch, int(row["batch"]))


def timm_training(folder):
    """Steps of timm's benchmark.py, which trains with SGD and momentum."""
    sizes = edges(folder)
    rows = [row for row in published.rows(published.THROUGHPUT)
            if row["mode"] == "training" and
            sizes.get(row["model"]) == int(row["img_size"])]
    for row in rows[::TRAINING_EVERY]:
        yield Label("timm training", str(folder), row["model"],
                    row["device"].lower(), float(row["latency_ms"]),
                    row["framework"].removeprefix("pytorch-"),
                    batch=int(row["batch"]), mode="training", precision="tf32",
                    optimizer="momentum", autocast=True, half_norms=True)


def edges(folder):
    """Edge of the image by network of truth.csv."""
    return {model: int(re.split("[x,]", row["input"])[-1])
            for model, row in published.truth(folder).items() if row["input"]}


def own(folder, mode):
    """Steps of timm's networks in eager PyTorch, of those networks in `folder` whose
    images are of the step's size."""
    sizes = edges(folder)
    for device, name in OWN.items():
        with gzip.open(foretell.ROOT / "datasets" / "labels" / device / name,
                       "rt") as file:
            rows = [json.loads(line) for line in file]
        for row in rows:
            case = row.get("case") or {}
            if (row.get("status") != "ok" or case.get("source") != "timm" or
                    case.get("runtime") != "eager" or case.get("mode") != mode or
                    case.get("checkpointing") or
                    sizes.get(case["model"]) != case["size"]):
                continue
            precision, autocast = OWN_PRECISION[case["precision"]]
            optimizer = case["optimizer"]
            if case["optimizer_options"].get("momentum"):
                optimizer = "momentum"
            yield Label("foretell labels", str(folder), case["model"], device,
                        row["step_ms"], OWN_TORCH, batch=case["batch"], mode=mode,
                        precision=precision,
                        optimizer=optimizer if mode == "training" else "",
                        autocast=autocast, channels_last=case["channels_last"])


def write(rows, path):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
