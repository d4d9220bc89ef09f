"""Published runs on A100s of networks that the zoo has, in the columns of a100_runs.csv.

Networks that the zoo lacks are left out, and what is no eager PyTorch. `torch` is the
version that ran. What the sources say of themselves:

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
PRECISIONS = {"fp16": "fp16", "tf32": "tf32", "fp32 (defaults)": "fp32", TF32: "tf32"}
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


def made(source, row, torch, **changes):
    """One row; its image is an input where its shape is published."""
    name = ZOO_NAMES.get(row["model"], row["model"]).format(**row)
    precision = PRECISIONS[row["precision"]]
    shape = row["input_shape"].replace("x", ",")
    kind = row["latency_kind"]
    return {"source": source, "model": row["model"], "trace": f"zoo:{name}",
            "inputs": f"x={ELEMENTS[precision]}[{row['batch']},{shape}]",
            "mode": row["mode"], "precision": precision, "batch": row["batch"],
            "latency_ms": row["latency_ms"], "latency_kind": kind,
            "device": DEVICES[row["device"]], "slice": row["mig_profile"],
            "seq_len": row["seq_len"], "memory_mib": "", "memory_kind": "",
            "torch": torch} | changes


def eager(table, *models):
    """Rows of PyTorch on A100s with a latency, of these networks alone if any."""
    for row in published.rows(MORE / table):
        if (row["framework"] == "pytorch" and row["latency_ms"] and
                row["device"] in DEVICES and row["precision"] in PRECISIONS and
                (row["model"] in models or not models)):
            yield row


def gpu_benchmark():
    for row in eager("e2e_pytorch_gpu_benchmark_a100.csv"):
        if not row["model"].startswith(ABSENT):
            yield made(GPU_BENCHMARK, row, "1.7",
                       latency_kind="incl. host-to-device copy")


def aitemplate():
    for row in eager("e2e_aitemplate_a100.csv", "resnet50", "vit_base_patch16_224"):
        yield made("aitemplate", row, "1.12")


def diffusers():
    for row in eager("e2e_diffusers_docs.csv.gz", "sd15_txt2img", "sdxl_txt2img"):
        if row["runtime"] in DIFFUSERS_TORCH:
            yield made("diffusers-docs", row, DIFFUSERS_TORCH[row["runtime"]],
                       batch=str(2 * int(row["batch"])))


def faster_transformer():
    for row in eager("e2e_fastertransformer.csv.gz", "bert-base-encoder",
                     "swin_tiny_patch4_window7_224"):
        yield made("fastertransformer", row, "1.12")


def student():
    for row in eager("e2e_mig_resnet50_student.csv"):
        yield made(STUDENT, row, "2.1", memory_mib=row["memory_mb"],
                   memory_kind=row["memory_kind"])


def flagperf():
    for row in eager("e2e_flagperf_a100.csv", "sam_vit_h", "swin_b"):
        yield made("flagperf", row, "1.13")


def rows():
    """One per network, mode, precision, batch and slice."""
    for source in (gpu_benchmark, aitemplate, diffusers, faster_transformer, student,
                   flagperf):
        yield from source()
