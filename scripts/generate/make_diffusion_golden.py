#!/usr/bin/env python3
"""Writes tests/golden/diffusion: what small diffusion transformers of diffusers 0.42.1
keep alive after a forward pass that autograd records, and the parameters of published
sizes.

Networks run on the CPU, where every operator below autograd is seen with the storages
of its results (scripts/lib/storage_census.py). Needs, beside torch:
    pip install --no-deps diffusers==0.42.1 huggingface_hub safetensors

Columns of `live_bytes.csv`: `network` in the zoo, `precision` of its weights,
`parameters`, and `kept` bytes: those alive while the result is held, without weights,
buffers and inputs. What only the CPU's kernels make, the log-sum-exp of attention, is
left out, and torch.nn.RMSNorm is the one kernel that it is on CUDA, which keeps its input
and a number per row (layer_norm.cpp, _fused_rms_norm). `parameters.csv`: those of the
published sizes, on the meta device.

usage: scripts/generate/make_diffusion_golden.py [--out FOLDER]
"""

import argparse
import csv
import pathlib
import sys

import torch
from torch.utils._pytree import tree_leaves

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

BATCH, SEQ = 2, 6
FUSED = "_scaled_dot_product_flash_attention_for_cpu"

FLUX = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 2,
        "num_single_layers": 1, "joint_attention_dim": 32, "pooled_projection_dim": 24,
        "in_channels": 64, "guidance_embeds": True, "axes_dims_rope": (4, 6, 6)}
FLUX2 = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 2,
         "num_single_layers": 2, "joint_attention_dim": 32, "in_channels": 64,
         "axes_dims_rope": (4, 4, 4, 4)}
SD3 = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 3,
       "joint_attention_dim": 32, "caption_projection_dim": 64,
       "pooled_projection_dim": 24, "sample_size": 8, "pos_embed_max_size": 6}
WAN = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 2,
       "text_dim": 32, "ffn_dim": 96, "in_channels": 16}

# Name in the zoo with small sizes, precision, class of diffusers, its arguments.
SMALL = (
    ("flux?depth=2&single_depth=1&heads=4&head_width=16&image_size=4&text_width=32&"
     f"seq={SEQ}&pooled_width=24", "fp32", "FluxTransformer2DModel", FLUX),
    *(("flux2?depth=2&single_depth=2&heads=4&head_width=16&channels=64&image_size=4&"
       f"text_width=32&seq={SEQ}&guidance={guidance}".lower(), "fp32",
       "Flux2Transformer2DModel", FLUX2 | {"guidance_embeds": guidance})
      for guidance in (True, False)),
    ("sd3?depth=3&heads=4&head_width=16&image_size=8&largest_size=6&text_width=32&"
     f"seq={SEQ}&pooled_width=24", "fp32", "SD3Transformer2DModel", SD3),
    ("sd3?depth=3&heads=4&head_width=16&head_norms=true&dual_depth=2&image_size=8&"
     f"largest_size=6&text_width=32&seq={SEQ}&pooled_width=24", "fp32",
     "SD3Transformer2DModel",
     SD3 | {"qk_norm": "rms_norm", "dual_attention_layers": (0, 1)}),
    *(("wan?depth=2&heads=4&head_width=16&inner=96&frames=3&height=4&width=6&"
       f"text_width=32&seq={SEQ}", precision, "WanTransformer3DModel", WAN)
      for precision in ("fp32", "bf16")),  # Statistics of its norms have 32 bits.
)
DTYPES = {"fp32": torch.float, "bf16": torch.bfloat16}

# Stock networks of the zoo, and the arguments of their published sizes.
STOCK = (
    ("flux1_dev", "FluxTransformer2DModel", {"guidance_embeds": True}),
    ("flux1_schnell", "FluxTransformer2DModel", {}),
    ("flux2_dev", "Flux2Transformer2DModel", {}),
    ("flux2_klein_9b", "Flux2Transformer2DModel",
     {"num_single_layers": 24, "num_attention_heads": 32, "joint_attention_dim": 12288,
      "guidance_embeds": False}),
    ("flux2_klein_4b", "Flux2Transformer2DModel",
     {"num_layers": 5, "num_single_layers": 20, "num_attention_heads": 24,
      "joint_attention_dim": 7680, "guidance_embeds": False}),
    ("sd3_medium", "SD3Transformer2DModel",
     {"num_layers": 24, "num_attention_heads": 24, "caption_projection_dim": 1536,
      "pos_embed_max_size": 192}),
    ("sd3_5_medium", "SD3Transformer2DModel",
     {"num_layers": 24, "num_attention_heads": 24, "caption_projection_dim": 1536,
      "pos_embed_max_size": 384, "qk_norm": "rms_norm",
      "dual_attention_layers": tuple(range(13))}),
    ("sd3_5_large", "SD3Transformer2DModel",
     {"num_layers": 38, "num_attention_heads": 38, "caption_projection_dim": 2432,
      "pos_embed_max_size": 192, "qk_norm": "rms_norm"}),
    ("wan2_1_1_3b", "WanTransformer3DModel",
     {"num_layers": 30, "num_attention_heads": 12, "ffn_dim": 8960}),
    ("wan2_1_14b", "WanTransformer3DModel", {}),
)


class FusedRmsNorm(torch.autograd.Function):
    """torch.nn.RMSNorm as one operator; its backward pass is not run."""

    @staticmethod
    def forward(ctx, x, weight, epsilon):
        root = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + epsilon)
        ctx.save_for_backward(x, weight, root)
        return (x * root * weight).to(x.dtype)


class Census(StorageCensus):
    """Of all storages that an operator returned."""

    def results_of(self, func, results):
        fused = func._schema.name == "aten::" + FUSED
        return [leaf for leaf in tree_leaves(results[0] if fused else results)
                if isinstance(leaf, torch.Tensor) and leaf.dim() > 0]


def inputs_of(kind):
    time = torch.full((BATCH,), 500.0)
    text = torch.randn(BATCH, SEQ, 32)
    if kind == "WanTransformer3DModel":
        return {"hidden_states": torch.randn(BATCH, 16, 3, 4, 6), "timestep": time,
                "encoder_hidden_states": text}
    if kind == "Flux2Transformer2DModel":
        return {"hidden_states": torch.randn(BATCH, 16, 64), "timestep": time,
                "encoder_hidden_states": text, "guidance": torch.full((BATCH,), 3.5),
                "img_ids": torch.zeros(16, 4), "txt_ids": torch.zeros(SEQ, 4)}
    shared = {"timestep": time, "encoder_hidden_states": text,
              "pooled_projections": torch.randn(BATCH, 24)}
    if kind == "SD3Transformer2DModel":
        return shared | {"hidden_states": torch.randn(BATCH, 16, 8, 8)}
    return shared | {"hidden_states": torch.randn(BATCH, 16, 64),
                     "guidance": torch.full((BATCH,), 3.5),
                     "img_ids": torch.zeros(16, 3), "txt_ids": torch.zeros(SEQ, 3)}


def kept_by(network, kind, dtype):
    inputs = {name: tensor.to(torch.float if name == "timestep" else dtype)
              for name, tensor in inputs_of(kind).items()}
    with Census() as census:
        for tensor in (*network.parameters(), *network.buffers(), *inputs.values()):
            census.count(tensor)
        fixed = census.live
        result = network(**inputs, return_dict=False)[0]
        kept = census.live - fixed
    del result
    return kept


def write(path, header, rows):
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


def count(network):
    return sum(parameter.numel() for parameter in network.parameters())


def main():
    import diffusers

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/diffusion"
    parser.add_argument("--out", type=pathlib.Path, default=folder)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.nn.RMSNorm.forward = (
        lambda norm, x: FusedRmsNorm.apply(x, norm.weight, norm.eps))
    rows = []
    for name, precision, kind, fields in SMALL:
        network = getattr(diffusers, kind)(**fields).eval().to(DTYPES[precision])
        rows.append((name, precision, count(network),
                     kept_by(network, kind, DTYPES[precision])))
    write(out / "live_bytes.csv", ("network", "precision", "parameters", "kept"), rows)
    rows = []
    for name, kind, fields in STOCK:
        with torch.device("meta"):
            rows.append((name, count(getattr(diffusers, kind)(**fields))))
    write(out / "parameters.csv", ("network", "parameters"), rows)


if __name__ == "__main__":
    main()
