"""Published latencies from which hosts are derived, with their predictions.

    for row in interval_rows.kept(options, host_rows.SOURCES): row.own_host

Those of interval_rows.py, and small batches on GPUs that it leaves out: networks of the
zoo (zoo_rows.py), hf-perf-docs on V100 and T4 by the traces of its A100 rows,
KernelBench on an L40S, and a BERT that embeds texts. Needs torch.
"""

import interval_rows
import kernelbench
import published
import score_a100
import zoo_rows

BERT = published.TABLES / "runs2026" / "onnxruntime_tensorrt_bge_a100.csv"
HF_DEVICES = {"V100": "v100-sxm2-16gb", "T4": "t4"}


def hf_rows():
    """hf-perf-docs elsewhere, in the columns of a100_runs.csv."""
    there = {(row["model"], row["batch"]): row for row in published.rows(score_a100.RUNS)
             if row["source"] == "hf-perf-docs"}
    for row in published.rows(published.TABLES / "e2e_other_gpus.csv"):
        key = row["model"], row["batch"]
        if (row["source"] == "hf-perf-docs" and row["runtime"] == "eager" and
                key in there):
            yield there[key] | {"device": HF_DEVICES[row["device"]], "torch": "2.0",
                                "latency_ms": row["latency_ms"]}


def bert_rows():
    """BAAI/bge-base-en-v1.5, BERT's encoder, by eager PyTorch."""
    for row in published.rows(BERT):
        if row["runtime"] == "PyTorch eager":
            yield {"source": row["source"], "model": row["model"],
                   "trace": f"zoo:bert_base?seq={row['seq_len']}",
                   "inputs": f"i64[{row['batch']},{row['seq_len']}]",
                   "mode": "inference", "precision": row["precision"],
                   "device": "a100-sxm4-80gb", "slice": "", "torch": "2.0",
                   "batch": row["batch"], "latency_ms": row["latency_ms"],
                   "latency_kind": ""}


def other_rows(_):
    return interval_rows.predicted_runs(
        [*hf_rows(), *bert_rows(), *zoo_rows.rows(zoo_rows.OTHER_DEVICES)])


def l40s_rows(options):
    return interval_rows.kernelbench_rows(options, kernelbench.L40S)


SOURCES = (*interval_rows.SOURCES, other_rows, l40s_rows)
