"""Published runs of networks that the zoo has, in the columns of a100_runs.csv.

`rows()` are those on A100s, `rows(OTHER_DEVICES)` those on other GPUs. Networks that
the zoo lacks are left out, and what is no eager PyTorch. `torch` is the version that
ran. What the sources say of themselves:

pytorch-gpu-benchmark  torchvision's networks at batch 12 in NGC's PyTorch 1.7 on a
                       machine of 2021, forward or forward and backward without an
                       optimizer's step, TF32 or 16 bits
aitemplate             timm's networks in 16 bits, PyTorch 1.12
diffusers-docs         U-Nets of a denoising step in 16 bits, which see twice the batch
fastertransformer      BERT's encoder and Swin as TorchScript, TF32 or 16 bits
mlops2026-student      ResNet-50 of two classes on images of 96 x 96, on a slice
flagperf               passes over a validation set, TF32 or 16 bits
"""

import published

MORE = published.TABLES / "more"
GPU_BENCHMARK = "pytorch-gpu-benchmark"
STUDENT = "mlops2026-student"
TF32 = "fp32 (tf32 default of the container)"
PRECISIONS = {"fp16": "fp16", "tf32": "tf32", "fp32": "fp32", "fp32 (defaults)": "fp32",
              TF32: "tf32"}
ELEMENTS = {"fp16": "f16", "tf32": "f32", "fp32": "f32"}
ABSENT = ("shufflenet", "squeezenet", "alexnet", "googlenet")
# Published names that are not the zoo's.
ZOO_NAMES = {"bert-base-encoder": "bert_base?seq={seq_len}",
             "resnet50_2classes": "resnet50?image_size=96&classes=2",
             "swin_b": "swin_base_patch4_window7_224",
             "sd15_txt2img": "sd15_unet", "sdxl_txt2img": "sdxl_unet"}
DIFFUSERS_TORCH = {"eager (torch 2.0, SDPA)": "2.0",
                   "eager (torch 2.1 nightly, SDPA)": "2.1"}
DEVICES = {"A100-SXM4-40GB": "a100-sxm4-40gb", "A100-40GB": "a100-sxm4-40gb",
           "A100": "a100-sxm4-40gb", "A100-80GB": "a100-sxm4-80gb",
           "A100 (variant not stated, memory clock 1215 MHz = 40 GB card)":
               "a100-sxm4-40gb"}
OTHER_DEVICES = {"V100": "v100-sxm2-16gb", "T4": "t4", "A10": "a10",
                 "TITAN RTX": "titan-rtx", "RTX 3090": "rtx-3090",
                 "RTX 4090": "rtx-4090"}


def made(source, row, torch, devices, **changes):
    """One row; its image is an input where its shape is published."""
    name = ZOO_NAMES.get(row["model"], row["model"]).format(**row)
    precision = PRECISIONS[row["precision"]]
    shape = row["input_shape"].replace("x", ",")
    kind = row["latency_kind"]
    return {"source": source, "model": row["model"], "trace": f"zoo:{name}",
            "inputs": f"x={ELEMENTS[precision]}[{row['batch']},{shape}]",
            "mode": row["mode"], "precision": precision, "batch": row["batch"],
            "latency_ms": row["latency_ms"], "latency_kind": kind,
            "device": devices[row["device"]], "slice": row["mig_profile"],
            "seq_len": row["seq_len"], "memory_mib": "", "memory_kind": "",
            "torch": torch} | changes


def eager(table, devices, *models):
    """Rows of PyTorch on `devices` with a latency, of these networks alone if any."""
    for row in published.rows(MORE / table):
        if (row["framework"] == "pytorch" and row["latency_ms"] and
                row["device"] in devices and row["precision"] in PRECISIONS and
                (row["model"] in models or not models)):
            yield row


def gpu_benchmark(devices):
    for table in ("a100.csv", "titan.csv.gz"):
        for row in eager(f"e2e_pytorch_gpu_benchmark_{table}", devices):
            if not row["model"].startswith(ABSENT):
                yield made(GPU_BENCHMARK, row, "1.7", devices,
                           latency_kind="incl. host-to-device copy")


def aitemplate(devices):
    for row in eager("e2e_aitemplate_a100.csv", devices, "resnet50",
                     "vit_base_patch16_224"):
        yield made("aitemplate", row, "1.12", devices)


def diffusers(devices):
    for row in eager("e2e_diffusers_docs.csv.gz", devices, "sd15_txt2img",
                     "sdxl_txt2img"):
        if row["runtime"] in DIFFUSERS_TORCH:
            yield made("diffusers-docs", row, DIFFUSERS_TORCH[row["runtime"]], devices,
                       batch=str(2 * int(row["batch"])))


def faster_transformer(devices):
    for row in eager("e2e_fastertransformer.csv.gz", devices, "bert-base-encoder",
                     "swin_tiny_patch4_window7_224"):
        yield made("fastertransformer", row, "1.12", devices)


def student(devices):
    for row in eager("e2e_mig_resnet50_student.csv", devices):
        yield made(STUDENT, row, "2.1", devices, memory_mib=row["memory_mb"],
                   memory_kind=row["memory_kind"])


def flagperf(devices):
    for row in eager("e2e_flagperf_a100.csv", devices, "sam_vit_h", "swin_b"):
        yield made("flagperf", row, "1.13", devices)


def rows(devices=DEVICES):
    """One per network, mode, precision, batch and slice; `devices` maps the tables'
    names of GPUs to foretell's."""
    for source in (gpu_benchmark, aitemplate, diffusers, faster_transformer, student,
                   flagperf):
        yield from source(devices)
