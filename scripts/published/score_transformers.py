#!/usr/bin/env python3
"""Compares predictions with PyTorch's published benchmark of transformers on an A100.

    .venv/bin/python scripts/published/score_transformers.py FOLDER [--networks]

Reads train_latency_torchdynamo_a100.csv from ../shared beside the repository: one
forward and backward pass in eager mode, by PyTorch of 2022 and 2023, without an
optimizer. Exports the networks from the transformers package's default configurations,
as that benchmark builds them, on the meta device with eager attention and a loss into
FOLDER, and keeps them there; lengths of sequences are those of the benchmark
(pytorch/pytorch, benchmarks/dynamo/huggingface.py). Prints in Markdown rows, median and
mean absolute error and signed median, in percent; FP32 rows do not say whether their
products ran in TF32, and are compared with both. Rows whose network needs more than a
configuration, or whose batch is another than the export's, are left out.
"""

import argparse
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

TABLE = published.TABLES / "more" / "train_latency_torchdynamo_a100.csv"
# Batch and length.
NETWORKS = {"AlbertForMaskedLM": (4, 512), "BartForCausalLM": (4, 1024),
            "BartForConditionalGeneration": (2, 1024),
            "DistilBertForQuestionAnswering": (256, 128),
            "LayoutLMForMaskedLM": (16, 512),
            "MBartForConditionalGeneration": (2, 1024),
            "MegatronBertForQuestionAnswering": (8, 512),
            "PegasusForConditionalGeneration": (32, 128),
            "TrOCRForCausalLM": (32, 256)}
PRECISIONS = {True: {"autocast": ["--autocast", "--precision", "fp16"]},
              False: {"FP32 products": ["--precision", "fp32"],
                      "TF32 products": ["--precision", "tf32"]}}


def export(name, path):
    """Writes one network that returns its loss."""
    import torch
    import transformers

    class Loss(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, **inputs):
            return self.network(**inputs).loss

    network = getattr(transformers, name)
    config = network.config_class()
    config._attn_implementation, config.use_cache = "eager", False
    batch, length = NETWORKS[name]
    asked = name.endswith("QuestionAnswering")
    labels = {"start_positions": (batch,), "end_positions": (batch,)} if asked else {
        "labels": (batch, length)}
    with torch.device("meta"):
        inputs = {key: torch.zeros(shape, dtype=torch.long)
                  for key, shape in {"input_ids": (batch, length), **labels}.items()}
        program = torch.export.export(Loss(network(config).train()), (), inputs,
                                      strict=False)
    torch.export.save(program, path)


def errors_of(folder):
    """Pairs of (precision, network) and the error of a time, in percent."""
    for row in published.rows(TABLE):
        name = row["model"]
        if row["runtime"] != "eager" or name not in NETWORKS:
            continue
        if int(row["batch"]) != NETWORKS[name][0]:
            continue
        path = folder / f"{name}.pt2"
        if not path.exists():
            export(name, path)
        for precision, flags in PRECISIONS[row["precision"].startswith("amp")].items():
            result = foretell.run_json(
                "predict", path, "--mode", "training", "--device", "a100-sxm4-40gb",
                "--torch", "2.0", "--method", "analytic", *flags,
                "--json")["results"][0]
            ratio = result["latency"]["ms"] / float(row["latency_ms"])
            yield (precision, name), ratio - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--networks", action="store_true", help="a row per network")
    options = parser.parse_args()
    published.need(TABLE)
    options.folder.mkdir(parents=True, exist_ok=True)
    groups = collections.defaultdict(list)
    for (precision, name), error in errors_of(options.folder):
        groups[f"{precision}, {name}" if options.networks else precision].append(error)
    print("| training step, transformers | rows | median | mean | signed |\n"
          "|---|---|---|---|---|")
    for key, errors in sorted(groups.items()):
        print(f"| {key} | {len(errors)} | {published.error_cells(errors)} |")


if __name__ == "__main__":
    foretell.main(main)
