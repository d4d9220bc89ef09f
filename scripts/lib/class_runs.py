"""GPUMemNet's rows of training memory, for classes of memory.

`runs()` yields Runs of five sets: the generated MLPs of both steps (`mlp-1`, `mlp-2`),
the generated convolutional networks (`cnn`, and `cnn-blocks`: residual and dense, which
GPUMemNet's estimators leave out), Transformers, and timm's networks. A run that was out
of memory has no figure. `export(run, folder)` writes its network, which needs torch.
"""

import dataclasses
import json
import pathlib

import generated_networks
import published

MLPS = published.TABLES / "training_memory_mlp_a100.csv.gz"
CNNS = published.TABLES / "more" / "training_memory_cnn_a100.csv.gz"
TRANSFORMERS = published.TABLES / "more" / "training_memory_transformer_a100.csv.gz"
RAN = {"ok", "at_capacity", "oom"}  # The rest never ran.
BLOCKS = {"residual", "dense"}
# The script that the convolutional networks ran in calls torchsummary.summary on the
# device before it trains (cnn.py at c4c6aa8), which passes so many samples forward.
SUMMARY_SAMPLES = 2


@dataclasses.dataclass(frozen=True)
class Run:
    set: str
    name: str    # Of the network, unique.
    input: str   # As `--input` takes it.
    batch: int
    memory_mib: float | None  # Of the whole process; None: out of memory.
    optimizer: str
    row: str     # The table's, as JSON.
    pass_before: int | None = None  # Samples of a forward pass before the first step.

    @property
    def fields(self):
        return json.loads(self.row)


def run_of(row, kind, name, shape, optimizer="adam", pass_before=None):
    is_out = row.get("status") == "oom"
    return Run(set=kind, name=name, input=shape, batch=int(row["batch"]),
               memory_mib=None if is_out else float(row["memory_max_used_mb"]),
               optimizer=optimizer, row=json.dumps(row), pass_before=pass_before)


def mlp_runs():
    for place, row in enumerate(published.rows(MLPS)):
        step = row["set"].removeprefix("step")
        yield run_of(row, f"mlp-{step}", f"mlp{place}", f"f32[1,{row['input_size']}]")


def cnn_runs():
    for row in published.rows(CNNS):
        if row["status"] not in RAN or not row["blocks"]:
            continue
        kind = "cnn-blocks" if row["arch"] in BLOCKS else "cnn"
        edge = row["input_size"]
        yield run_of(row, kind, f"cnn{row['set']}-{row['index']}",
                     f"f32[1,{row['input_channels']},{edge},{edge}]",
                     pass_before=SUMMARY_SAMPLES)


def transformer_runs():
    for row in published.rows(TRANSFORMERS):
        if row["status"] in RAN:
            yield run_of(row, "transformer",
                         f"transformer{row['set']}-{row['index']}",
                         f"i64[1,{row['seq_length']}]")


def timm_runs():
    """Those of which there is a trace, and which are the same network today."""
    with published.unpacked(published.TRAINING_TRACES) as folder:
        shapes = {row["model"]: row["input"]
                  for row in published.truth(folder).values() if row["input"]}
    for row in published.rows(published.TRAINING_MEMORY):
        model = row["model"]
        if row["status"] == "ok" and model in shapes and (
                model not in published.CHANGED_SINCE_MEASURED):
            yield run_of(row, "timm", model, published.input_flag(shapes[model], 1),
                         optimizer="momentum")


SOURCES = (mlp_runs, cnn_runs, transformer_runs, timm_runs)
TABLES = (MLPS, CNNS, TRANSFORMERS, published.TRAINING_MEMORY,
          published.TRAINING_TRACES)
EXPORTS = {"mlp": generated_networks.export_mlp,
           "cnn": generated_networks.export_cnn,
           "transformer": generated_networks.export_transformer}


def runs():
    for source in SOURCES:
        yield from source()


def export(run, folder):
    """The file of the run's network below `folder`, written unless it is there."""
    path = pathlib.Path(folder) / f"{run.name}.pt"
    if not path.exists():
        part = path.with_suffix(".part")
        EXPORTS[run.set.split("-")[0]](run.fields, part)
        part.rename(path)
    return path
