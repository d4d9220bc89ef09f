#!/usr/bin/env python3
"""Steps of whole networks in eager PyTorch: time, kernels, peaks.

    measure_networks.py --seconds 200 --out networks.jsonl.gz
    measure_networks.py --device cpu --tiny --seconds 60 --out dry.jsonl

Stock PyTorch, nothing of foretell. One timm network of each family, and the
text networks of measure_compile.py, with random weights: inference (fp32, fp16
under autocast, bf16 in channels-last, one image) and training with AdamW (fp32,
bf16 under autocast, channels-last). All in one process, one after the other, so
the device and the host's thread serve one case at a time. The order is fixed
and pseudo-random: any prefix is a fair sample.

The first row is the environment; the fields of the others are those of
measure_compile.py that eager PyTorch has, without NVML's.
"""
import argparse
import gc
import hashlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import allocator_cases  # noqa: E402
import allocator_models  # noqa: E402
import measure_allocator as allocator  # noqa: E402
import measure_compile  # noqa: E402
import measure_kernels  # noqa: E402
from allocator_cases import case, optimizer  # noqa: E402

STEPS = 10
# timm's name -> batch
TIMM = {
    "resnet18": 64, "resnet50": 32, "resnet101d": 24, "wide_resnet50_2": 32,
    "resnext50_32x4d": 32, "resnetv2_50": 32, "resnetv2_50d_gn": 24,
    "resnest50d_4s2x40d": 24, "skresnet34": 48, "seresnet50": 32,
    "ecaresnet50t": 24, "res2net50d": 32, "resnetblur50": 32, "resnetrs101": 24,
    "densenet121": 32, "inception_v3": 32, "inception_resnet_v2": 16,
    "vgg16": 32, "regnetx_016": 64, "regnety_032": 48, "regnetz_b16": 48,
    "nf_regnet_b1": 48, "nfnet_l0": 24, "efficientnet_b0": 64,
    "tf_efficientnetv2_b1": 48, "efficientnetv2_rw_s": 16, "mixnet_m": 48,
    "mnasnet_100": 64, "semnasnet_100": 64, "fbnetv3_b": 48,
    "hardcorenas_e": 64, "mobilenetv1_100": 96, "mobilenetv2_100": 96,
    "mobilenetv3_large_100": 96, "mobilenetv4_conv_medium": 64,
    "mobilenetv4_hybrid_medium": 48, "mobileone_s1": 64, "ghostnet_100": 96,
    "repghostnet_100": 96, "rexnet_150": 48, "tinynet_a": 64, "lcnet_100": 128,
    "repvgg_b0": 48, "repvit_m1_0": 64, "tresnet_m": 32, "dla60": 32,
    "dpn68": 32, "hrnet_w18_small": 48, "selecsls60": 64, "cspresnet50": 32,
    "cs3darknet_m": 48, "darknet53": 24, "ese_vovnet39b": 32, "gernet_m": 48,
    "hgnetv2_b3": 32, "vovnet39a": 32, "sebotnet33ts_256": 24,
    "halonet26t": 32, "gcresnet50t": 24, "convnext_tiny": 32,
    "convnextv2_nano": 48, "convmixer_768_32": 12, "inception_next_tiny": 32,
    "focalnet_tiny_srf": 32, "poolformer_s12": 32, "caformer_s18": 24,
    "convformer_s18": 24, "vit_tiny_patch16_224": 96,
    "vit_small_patch16_224": 64, "vit_base_patch16_224": 32,
    "vit_base_patch32_clip_224": 64, "vit_small_r26_s32_224": 48,
    "vit_relpos_small_patch16_224": 48, "vit_medium_patch16_gap_240": 32,
    "vit_srelpos_medium_patch16_224": 32, "vit_base_patch16_rope_reg1_gap_256":
    16, "deit3_small_patch16_224": 64, "beit_base_patch16_224": 24,
    "eva02_tiny_patch14_224": 48, "flexivit_small": 48, "hiera_tiny_224": 32,
    "swin_tiny_patch4_window7_224": 32, "swinv2_cr_tiny_224": 24,
    "swin_s3_tiny_224": 24, "mixer_s16_224": 64, "gmlp_s16_224": 48,
    "resmlp_12_224": 64, "cait_xxs24_224": 24, "xcit_tiny_12_p16_224": 48,
    "crossvit_tiny_240": 48, "coat_lite_tiny": 48, "convit_tiny": 48,
    "coatnet_0_rw_224": 24, "maxvit_tiny_rw_224": 16, "levit_256": 96,
    "pit_s_224": 48, "pvt_v2_b1": 48, "twins_svt_small": 32,
    "nest_tiny_jx": 24, "davit_tiny": 32, "edgenext_small": 48,
    "efficientformer_l1": 64, "efficientformerv2_s1": 48,
    "efficientvit_b1": 64, "efficientvit_m4": 128, "fastvit_t12": 48,
    "gcvit_xtiny": 32, "mobilevit_s": 32, "mobilevitv2_100": 48,
    "nextvit_small": 32, "sequencer2d_s": 24, "tiny_vit_11m_224": 32,
    "visformer_small": 48, "volo_d1_224": 24, "vitamin_small_224": 32,
    "samvit_base_patch16_224": 16, "starnet_s3": 64, "rdnet_tiny": 24,
}
VARIANTS = [
    dict(mode="inference", precision="fp32"),
    dict(mode="inference", precision="fp16_autocast"),
    dict(mode="inference", precision="bf16", channels_last=True),
    dict(mode="inference", precision="fp32", batch=1),
    dict(mode="training", precision="fp32", **optimizer("adamw")),
    dict(mode="training", precision="bf16_autocast", **optimizer("adamw")),
    dict(mode="training", precision="bf16_autocast", channels_last=True,
         **optimizer("momentum")),
]


def cases():
    """[(id, case)], any prefix a fair sample."""
    import timm
    found = []
    for model, batch in TIMM.items():
        if not timm.is_model(model):
            continue
        size = timm.get_pretrained_cfg(model, allow_unregistered=False)
        size = size.input_size[1] if size else 224
        found += [case(**{**dict(
            source="timm", model=model, size=size, batch=batch,
            config=dict(num_classes=1000), task="classification",
            loss="cross_entropy"), **variant})
            for variant in VARIANTS]
    for fields in measure_compile.networks():
        if fields["source"] == "transformers":
            found += [case(**{**fields, **variant}) for variant in VARIANTS
                      if not variant.get("channels_last") and not (
                          variant["mode"] == "inference" and
                          "seq2seq" in fields["task"])]
    named = [(allocator_cases.identity(c), c) for c in found]
    return sorted(named, key=lambda one: hashlib.sha256(json.dumps(
        {**one[1], "config": {}}, sort_keys=True).encode()).digest())


def measure(definition, options, row):
    import torch
    if options.tiny:
        definition = allocator_models.shrink(definition)
    torch.manual_seed(1)
    meter = allocator.Meter(options.device)
    work = allocator_models.build(definition, options.device)
    row["model"] = meter.stats()
    row["parameters"] = sum(p.numel() for p in work.module.parameters())
    runner = measure_compile.Runner(dict(definition, compile_mode=None), work,
                                    options.device)
    runner.waited_step()
    measure_compile.measure_memory(runner, row)
    measure_compile.measure_time(runner, row, 2 if options.tiny else STEPS)
    if options.device == "cuda":
        measure_compile.add_kernels(measure_compile.profiled_steps(runner), row)
    row["status"] = "ok"


def run_case(key, definition, options):
    """The row of one case; never raises."""
    begin = time.perf_counter()
    row = {"kind": "case", "id": key, "case": definition, "status": "error"}
    try:
        measure(definition, options, row)
    except Exception as error:
        row.update(measure_kernels.failure(error))
        print(key, row["message"][:300], file=sys.stderr)
    gc.collect()
    if options.device == "cuda" and usable(options.device):
        import torch
        torch.cuda.empty_cache()
    row["seconds"] = round(time.perf_counter() - begin, 2)
    return row


def usable(device):
    """Whether the context has survived the errors so far."""
    try:
        allocator.sync(device)
        return True
    except RuntimeError:
        return False


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--out", default="networks.jsonl.gz")
    parser.add_argument("--tiny", action="store_true", help="toy extents, fp32")
    return parser.parse_args()


def main():
    options = parse()
    deadline = time.time() + options.seconds
    chosen = cases()[options.skip:]
    allocator.import_libraries([c for _, c in chosen])
    allocator.append(options.out, dict(measure_kernels.environment(),
                                       fields=allocator.FIELDS))
    done = bad = 0
    for key, definition in chosen:
        if time.time() > deadline or bad and not usable(options.device):
            break
        row = run_case(key, definition, options)
        allocator.append(options.out, row)
        done, bad = done + 1, bad + (row["status"] != "ok")
    print(f"{done} cases, {bad} not ok, next --skip {options.skip + done} of "
          f"{options.skip + len(chosen)}")


if __name__ == "__main__":
    main()
