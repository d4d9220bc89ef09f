"""Published energy and power of whole runs, as `foretell predict` is asked for them.

`SOURCES` yields Runs; a Run that is not clean says why. docs/energy.md has the words.
"""
import dataclasses

import published

TABLES = published.TABLES
DIFFUSION_STEPS = 25
OWN_LIMIT_W = {"a40": 300, "v100-pcie-32gb": 250, "p100-pcie-16gb": 250,
               "quadro-rtx-6000": 260}
ZEUS_DEVICES = {"A40": "a40", "V100": "v100-pcie-32gb", "P100": "p100-pcie-16gb",
                "Quadro RTX 6000": "quadro-rtx-6000"}
# As data/devices has it; so near to it a limit says little: it is not known so well.
IDLE_W = {"a40": 100, "v100-pcie-32gb": 38, "p100-pcie-16gb": 32,
          "quadro-rtx-6000": 55}
SMALLEST_LIMIT_SHARE = 0.2
SMALLEST_BUSY_BATCH = 32
# U-Net, decoder of the latent images and the type that it runs in, as the pipelines of
# diffusers choose them: XL's decoder overflows in 16 bits and is run in 32.
DIFFUSION = {
    "prompthero/openjourney-v4": ("sd15_unet", "sd_vae_decoder", "fp16"),
    "stabilityai/stable-diffusion-2-1":
        ("sd21_unet", "sd_vae_decoder?image_size=96", "fp16"),
    "stabilityai/stable-diffusion-xl-base-1.0":
        ("sdxl_unet", "sd_vae_decoder?image_size=128", "fp32"),
    "stabilityai/sdxl-turbo":
        ("sdxl_unet?image_size=64", "sd_vae_decoder", "fp32")}
# As the benchmark's requirements.txt has it (ml-energy/leaderboard,
# benchmark/diffusion/text-to-image).
DIFFUSION_TORCH = "2.2"
DIFFUSION_DEVICES = {"A100-SXM-40GB": "a100-sxm4-40gb",
                     "H100-SXM-80GB": "h100-sxm5-80gb"}
HOST_BOUND_IMAGES = 2
IMAGENET = {
    "VGG19": "vgg19", "ResNet50": "resnet50", "ResNet101": "resnet101",
    "ResNet152": "resnet152", "InceptionV3": "inception_v3",
    "ResNext50": "resnext50_32x4d", "ResNext101": "resnext101_32x8d",
    "RegNetX8GF": "regnet_x_8gf",
    "RegNetX32GF": "regnet_x_8gf?depth=23&initial_width=320&width_slope=69.86"
                   "&width_step=2&group_width=168",
    **{f"EfficientNetB{n}": f"efficientnet_b{n}" for n in (2, 3, 4, 6, 7)}}
BUSY_PERCENT = 90
LIGHTENING = {"deit_tiny_patch16_224": "vit_tiny_patch16_224",
              "deit_small_patch16_224": "vit_small_patch16_224",
              "deit_base_patch16_224": "vit_base_patch16_224",
              "bert-base encoder + classifier": "bert_base",
              "bert-large encoder + classifier": "bert_large"}
# Of H100 batch-1 queries; the first one is what the others are compared with.
QUERIES = {"microsoft/resnet-50": "resnet50",
           "google/vit-base-patch16-224": "vit_base_patch16_224",
           "google/vit-base-patch16-384": "vit_base_patch16_224?image_size=384",
           "google/vit-large-patch32-384":
               "vit_large_patch16_224?image_size=384&patch_size=32",
           "facebook/convnext-base-384-22k-1k": "convnext_base?image_size=384",
           "facebook/convnext-large-224": "convnext_large",
           "google/efficientnet-b7": "efficientnet_b7",
           "google/mobilenet_v2_1.0_224": "mobilenet_v2"}
REFERENCE_QUERY = "microsoft/resnet-50"


@dataclasses.dataclass
class Run:
    """One published run: what `predict` is asked, and what was measured."""
    group: str
    flags: tuple
    times: int = 1  # The step runs so often.
    then: tuple = ()  # What `predict` is asked of a step that follows once.
    latency_ms: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    unclean: str = ""  # Why it is not; empty where it is.
    reference: str = ""  # Name of what it is a ratio to; see score_energy.py.
    name: str = ""


def number(text):
    return float(text) if text else None


def run_of(row, group, flags, **more):
    return Run(group, flags, latency_ms=number(row["latency_ms"]),
               power_w=number(row["power_w"]), energy_j=number(row["energy_j"]),
               **more)


def diffusion_runs():
    """Guided Stable Diffusion: each step has the U-Net on twice the images; at the end
    they are decoded."""
    rows = [row for table in ("e2e_a100.csv.gz", "e2e_other_gpus.csv")
            for row in published.rows(TABLES / table)
            if row["source"] == "ml-energy" and row["model"] in DIFFUSION]
    for row in rows:
        batch = int(row["batch"])
        device = DIFFUSION_DEVICES[row["device"]]
        unet, decoder, precision = DIFFUSION[row["model"]]
        flags = ("--device", device, "--torch", DIFFUSION_TORCH)
        yield run_of(
            row, f"ml-energy, diffusion, {device}",
            (f"zoo:{unet}", "--batch", 2 * batch, "--precision", "fp16", *flags),
            times=DIFFUSION_STEPS,
            then=(f"zoo:{decoder}", "--batch", batch, "--precision", precision,
                  *flags),
            unclean="host-bound: text, scheduler and safety code run between "
                    "steps" if batch <= HOST_BOUND_IMAGES else "")


def zeus_runs():
    """Training of ResNet-50 by batch and power limit."""
    for row in published.rows(TABLES / "more" / "train_energy_zeus.csv.gz"):
        if row["model"] != "resnet50":
            continue
        device, limit = ZEUS_DEVICES[row["device"]], int(row["power_limit_w"])
        own = limit == OWN_LIMIT_W[device]
        idle = IDLE_W[device]
        if limit <= idle:
            continue
        share = (limit - idle) / (OWN_LIMIT_W[device] - idle)
        name = f"{device} {row['batch']}"
        flags = ("zoo:resnet50", "--mode", "training", "--batch", row["batch"],
                 "--device", device, "--torch", "1.11")
        unclean = ("batches of 8 and 16 wait for data and host"
                   if int(row["batch"]) < SMALLEST_BUSY_BATCH else
                   "its limit is hardly above idle power"
                   if share < SMALLEST_LIMIT_SHARE else "")
        yield run_of(row, f"zeus, ResNet-50, {device}", (
            *flags, *(() if own else ("--power-limit", limit))), unclean=unclean,
            name=name if own else "", reference="" if own else name)


def imagenet_runs():
    """Inference on a Quadro RTX 5000."""
    for row in published.rows(TABLES / "more" / "e2e_energy_imagenet2022.csv"):
        if row["model"] not in IMAGENET or "RTX" not in row["device"] or (
                row["framework"] != "pytorch"):
            continue
        edge = row["input_shape"].split("x")[-1]
        model = IMAGENET[row["model"]]
        size = f"{'&' if '?' in model else '?'}image_size={edge}"
        busy = float(row["gpu_util_pct"]) > BUSY_PERCENT
        yield run_of(row, "imagenet-energy-2022, quadro-rtx-5000", (
            f"zoo:{model}{size}", "--batch", row["batch"], "--device",
            "quadro-rtx-5000", "--torch", "1.10"),
            unclean="" if busy else "the GPU waits for images")


def lightening_runs():
    """Power of transformers at batch 1, bound by the host."""
    for row in published.rows(TABLES / "more" / "e2e_power_lightening_a100.csv"):
        seq = f"?seq={row['seq_len']}" if row["seq_len"] else ""
        clean = "sm clock 1410" in row["note"]
        yield run_of(row, "lightening-transformer, a100-sxm4-80gb", (
            f"zoo:{LIGHTENING[row['model']]}{seq}", "--batch", 1, "--autocast", "--precision", "fp16",
            "--device", "a100-sxm4-80gb", "--torch", "1.13"),
            unclean="" if clean else "its mean clock says that idle seconds "
                                     "were averaged in")


def query_runs():
    """Queries one by one: ratios to ResNet-50, whose pipeline is the same."""
    path = TABLES / "more" / "e2e_energy_aienergyscore_h100.csv"
    for row in published.rows(path):
        if row["model"] not in QUERIES:
            continue
        own = row["model"] == REFERENCE_QUERY
        yield run_of(row, "ai-energy-score, h100-sxm5-80gb", (
            f"zoo:{QUERIES[row['model']]}", "--batch", 1, "--device",
            "h100-sxm5-80gb"),
            unclean="energy of all phases, reading images included: ratios "
                    "alone mean something",
            name="query" if own else "", reference="" if own else "query")


SOURCES = (diffusion_runs, zeus_runs, imagenet_runs, lightening_runs, query_runs)
