"""Rows of pytorch-gpu-benchmark, in the columns of a100_runs.csv.

torchvision's networks at batch 12 in NGC's PyTorch 1.7 on a machine of 2021, forward or
forward and backward without an optimizer's step, TF32 or 16 bits. The networks are the
zoo's; those that it lacks are left out.
"""

import published

SOURCE = "pytorch-gpu-benchmark"
TABLE = published.TABLES / "more" / "e2e_pytorch_gpu_benchmark_a100.csv"
ABSENT = ("shufflenet", "squeezenet", "alexnet", "googlenet")
PRECISIONS = {"fp16": ("fp16", "f16"),
              "fp32 (tf32 default of the container)": ("tf32", "f32")}
COLUMNS = {"slice": "", "seq_len": "", "memory_mib": "", "memory_kind": "",
           "source": SOURCE, "device": "a100-sxm4-40gb"}


def rows():
    """One per network, mode and precision."""
    for row in published.rows(TABLE):
        if row["model"].startswith(ABSENT) or row["precision"] not in PRECISIONS:
            continue
        precision, element = PRECISIONS[row["precision"]]
        shape = row["input_shape"].replace("x", ",")
        yield {**COLUMNS, "model": row["model"], "trace": f"zoo:{row['model']}",
               "inputs": f"x={element}[{row['batch']},{shape}]",
               "mode": row["mode"], "precision": precision, "batch": row["batch"],
               "latency_ms": row["latency_ms"],
               "latency_kind": "incl. host-to-device copy"}
