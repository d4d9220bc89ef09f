"""Published memory of whole runs, as `foretell predict` is asked for it.

`SOURCES` yields Runs. What a source measured is one of three: bytes that torch
allocated, what the process held on the device, or the latter without a bare context.
docs/memory.md has the words.
"""

import dataclasses
import re

import published

MORE = published.TABLES / "more"
HF_DOCS = MORE / "e2e_memory_hf_docs.csv.gz"
IMAGENET = MORE / "e2e_energy_imagenet2022.csv"
XMEM = MORE / "training_memory_xmem.csv"
CNNS = MORE / "training_memory_cnn_a100.csv.gz"
TRANSFORMERS = MORE / "training_memory_transformer_a100.csv.gz"
OPEN_MMLAB = MORE / "zoo_openmmlab_v100.csv.gz"
ALLOCATED, DEVICE, BEYOND_CONTEXT = "allocated", "device", "beyond context"
MIB_PER_MB = 1e6 / 2**20  # hf-docs prints bytes / 10^6.
A100 = "a100-sxm4-40gb"
# transformers' networks whose memory its documentation prints: torch's own count, which
# hardly depends on the GPU.
GPT2_LARGE = {"width": 1280, "depth": 36, "heads": 20, "inner": 5120,
              "has_mask_buffers": True, "keeps_cache": True}
HF_NETWORKS = {
    "bert-base-uncased": {"vocabulary": 30522, "positions": 512,
                          "activation": "gelu", "is_causal": False,
                          "splits_projections": True, "norms_first": False},
    "gpt2-large": GPT2_LARGE,
    "opt-350m": {"width": 1024, "depth": 24, "heads": 16, "inner": 4096,
                 "vocabulary": 50272, "positions": 2050, "activation": "relu",
                 "attention_dropout": 0.0, "splits_projections": True,
                 "norms_first": False, "embedding_width": 512,
                 "softmax_in_32_bits": True, "keeps_cache": True,
                 "keeps_prompt_logits": False}}
# Tokens that the pages' inference appends, as their script does unless told otherwise
# (fxmarty's of optimum's tests/benchmark): every row is a `generate`.
NEW_TOKENS = 100
VIVIT = "vivit-b-16x2-kinetics400"
VIVIT_INPUT = "f16[1,32,3,224,224]"
IMAGENET_NETWORKS = {
    "VGG19": "vgg19", "ResNet50": "resnet50", "ResNet101": "resnet101",
    "ResNet152": "resnet152", "MobileNetV3Large": "mobilenet_v3_large",
    "InceptionV3": "inception_v3", "ResNext50": "resnext50_32x4d",
    "ResNext101": "resnext101_32x8d", "RegNetX400MF": "regnet_x_400mf",
    "RegNetX8GF": "regnet_x_8gf",
    "RegNetX32GF": "regnet_x_8gf?depth=23&initial_width=320&width_slope=69.86"
                   "&width_step=2&group_width=168",
    **{f"EfficientNetB{n}": f"efficientnet_b{n}" for n in (0, 1, 2, 3, 4, 6, 7)}}
IMAGENET_DEVICES = {"A100-SXM4-40GB": A100, "Quadro RTX 5000": "quadro-rtx-5000"}
XMEM_DEVICES = {"NVIDIA GeForce RTX 3060": "rtx-3060",
                "NVIDIA GeForce RTX 4060": "rtx-4060"}
XMEM_NETWORKS = {
    "openai-community/gpt2": {"has_mask_buffers": True, "keeps_cache": True},
    "EleutherAI/gpt-neo-125M": {
        "has_mask_buffers": True, "keeps_cache": True, "positions": 2048, "dropout": 0.0, "attention_dropout": 0.0,
        "splits_projections": True, "is_eager": True},
    "cerebras/Cerebras-GPT-111M": {
        "has_mask_buffers": True, "keeps_cache": True, "depth": 10,
        "positions": 2048, "activation": "gelu"},
    "facebook/opt-125m": {
        "keeps_cache": True, "vocabulary": 50272, "positions": 2050,
                          "activation": "relu", "attention_dropout": 0.0,
                          "splits_projections": True}}


# Configurations of MMSegmentation: network, depth of the ResNet, "b" for one with a plain
# stem, edges of the crop, data.
SEGMENTATION = re.compile(
    r"(fcn|pspnet|deeplabv3)_r(18|50|101)(b?)-d8_(\d+)x(\d+)_\d+k_(\w+)")
# Classes, and images per GPU, by data; the configurations of Cityscapes alone take two.
SEGMENTED = {"cityscapes": (19, 2), "ade20k": (150, 4), "voc12aug": (21, 4),
             "pascal_context": (60, 4)}
ALIGNED_EDGE = 769  # Crops of this edge are resized corner to corner.


@dataclasses.dataclass(frozen=True)
class Run:
    """One published run: what `predict` is asked, and what was measured."""
    source: str
    name: str
    model: str   # A file or zoo: name; empty where `network` has to be exported.
    flags: tuple
    batch: int
    measured_mib: float
    kind: str
    network: tuple = ()  # What export_network is told.
    keeps_result: bool = False  # That of the call before, as a loop does.
    has_buckets: bool = False  # DistributedDataParallel's copy of all gradients.


def language_model(sizes, mode, precision="fp32"):
    return ("language", tuple(sorted(sizes.items())), mode, precision)


def hf_docs_run(row, flags, common):
    """A language model: training, or inference that generates tokens. Without a cache
    of keys and values, as BERT, each of them is a pass over all before it, of which
    the last one holds most, with the result of the one before it."""
    name, length = row["model"], int(row["seq_len"])
    is_training = row["mode"] == "training"
    sizes = {**HF_NETWORKS[name], "has_loss": False,
             "is_eager": "eager attention" in row["runtime"]}
    has_cache = sizes.get("keeps_cache", False)
    if not is_training and has_cache:
        sizes["new_tokens"] = NEW_TOKENS
    elif not is_training:
        length += NEW_TOKENS - 1
    precision = "fp16" if "fp16" in flags else "fp32"
    optimizer = ("--optimizer", "sgd") if is_training else ()
    return Run(model="", flags=(*flags, *optimizer, "--input", f"i64[1,{length}]"),
               network=language_model(sizes, row["mode"], precision),
               keeps_result=not is_training and not has_cache, **common)


def hf_docs_runs():
    """transformers' documentation: eager attention next to fused."""
    for row in published.rows(HF_DOCS):
        if not row["memory_mb"] or row["source"] != "hf-model-docs":
            continue
        is_eager = "eager attention" in row["runtime"]
        flags = ("--mode", row["mode"], "--device", A100, "--torch",
                 "1.13" if is_eager else "2.2")
        if not row["precision"].startswith("not"):
            flags += ("--precision", "fp16")
        common = {"batch": int(row["batch"]), "name": row["model"],
                  "kind": ALLOCATED,
                  "measured_mib": float(row["memory_mb"]) * MIB_PER_MB,
                  "source": f"hf-docs, {row['model']}, {row['mode']}"}
        if row["model"] == VIVIT:
            yield Run(model="", flags=(*flags, "--input", VIVIT_INPUT),
                      network=("vivit", is_eager), **common)
        if row["model"] in HF_NETWORKS:
            yield hf_docs_run(row, flags, common)


def imagenet_runs():
    """Inference of images with cudnn.benchmark, eight A100s or one small card."""
    for row in published.rows(IMAGENET):
        if not row["memory_mb"] or row["model"] not in IMAGENET_NETWORKS:
            continue
        model, edge = IMAGENET_NETWORKS[row["model"]], row["input_shape"].split("x")[-1]
        device = IMAGENET_DEVICES[row["device"]]
        yield Run(
            source=f"imagenet-energy-2022, inference, {device}", name=row["model"],
            model=f"zoo:{model}{'&' if '?' in model else '?'}image_size={edge}",
            flags=("--device", device, "--torch", "1.10", "--environment",
                   "cuda11.6-eager"),
            batch=int(row["batch"]), measured_mib=float(row["memory_mb"]), kind=DEVICE)


def xmem_runs():
    """Language models trained on 128 tokens, by the optimizer."""
    for row in published.rows(XMEM):
        if row["hub_name"] not in XMEM_NETWORKS or row["status"] != "ok" or (
                row["device"] not in XMEM_DEVICES):
            continue
        yield Run(
            source=f"xmem, training, {row['hub_name']}", name=row["model"], model="",
            flags=("--input", f"i64[1,{row['seq_len']}]", "--mode", "training",
                   "--optimizer", row["optimizer"].lower(), "--device",
                   XMEM_DEVICES[row["device"]], "--torch", "2.6", "--environment",
                   "cuda12-lazy"),
            batch=int(row["batch"]), measured_mib=float(row["measured_mib"]),
            kind=BEYOND_CONTEXT, network=language_model(
                XMEM_NETWORKS[row["hub_name"]], "training"))


def generated_runs(table, kind, input_of):
    for row in published.rows(table):
        if row["status"] != "ok" or row.get("blocks") == "":
            continue
        yield Run(
            source=f"gpumemnet, training, generated {kind}",
            name=row.get("arch", kind), model="",
            flags=("--input", input_of(row), "--mode", "training", "--optimizer",
                   "adam", "--device", A100, "--torch", "2.4", "--environment",
                   "cuda12-eager"),
            batch=int(row["batch"]), measured_mib=float(row["memory_max_used_mb"]),
            kind=DEVICE, network=(kind, tuple(sorted(row.items()))))


def cnn_runs():
    """Generated convolutional networks, Adam."""
    return generated_runs(
        CNNS, "cnn", lambda row: f"f32[1,{row['input_channels']},"
                                 f"{row['input_size']},{row['input_size']}]")


def transformer_runs():
    """Generated text classifiers, Adam."""
    return generated_runs(TRANSFORMERS, "transformer",
                          lambda row: f"i64[1,{row['seq_length']}]")


def segmentation_runs():
    """Segmentation on four V100s, each step with its loss, cudnn.benchmark."""
    for row in published.rows(OPEN_MMLAB):
        found = SEGMENTATION.fullmatch(row["model"])
        if not found or not row["memory_mb"] or row["precision"] != "fp32":
            continue
        kind, depth, plain, *edges, data = found.groups()
        height, width = map(int, edges)
        classes, batch = SEGMENTED[data]
        yield Run(
            source=f"mmseg, training, {kind}", name=row["model"], model="",
            flags=("--input", f"images=f32[1,3,{height},{width}]", "--input",
                   f"labels=i64[1,{height},{width}]", "--mode", "training",
                   "--optimizer", "momentum", "--set-to-none", "off", "--foreach",
                   "off", "--device", "v100", "--torch", "1.7",
                   "--environment", "cuda11.6-eager"),
            batch=batch, measured_mib=float(row["memory_mb"]), kind=ALLOCATED,
            has_buckets=True, network=("segmentation", (
                ("kind", kind), ("depth", int(depth)),
                ("has_deep_stem", not plain), ("classes", classes),
                ("aligns", height == ALIGNED_EDGE))))


SOURCES = (hf_docs_runs, imagenet_runs, xmem_runs, cnn_runs, transformer_runs,
           segmentation_runs)
# Of a source with many rows one in so many is taken.
STEPS = {cnn_runs: 60, transformer_runs: 4}


def export_network(network, path):
    """Writes what `Run.network` names; needs torch."""
    import torch

    import generated_networks
    import language_models
    import segmentation_networks
    import video_models

    kind, sizes, *more = network
    if kind == "vivit":
        video_models.export_vivit(sizes, path)
    elif kind == "language":
        mode, precision = more
        language_models.export(
            language_models.Model(**dict(sizes)), mode, path,
            torch.float16 if precision == "fp16" else torch.float32)
    elif kind == "segmentation":
        segmentation_networks.export_segmentation(dict(sizes), path)
    elif kind == "cnn":
        generated_networks.export_cnn(dict(sizes), path)
    else:
        generated_networks.export_transformer(dict(sizes), path)
