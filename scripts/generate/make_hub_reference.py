#!/usr/bin/env python3
"""Writes tests/datasets/zoo/reference_hub.csv: parameters of the networks of
data/architectures/hub_models.json as transformers 5.24.0 builds them from the same
numbers, on the meta device.

usage: scripts/generate/make_hub_reference.py > tests/datasets/zoo/reference_hub.csv
"""

import csv
import json
import pathlib
import sys

import torch
from transformers import (AutoConfig, AutoModel, AutoModelForCausalLM,
                          AutoModelForImageTextToText, T5EncoderModel)

TABLE = pathlib.Path(__file__).parents[2] / "data/architectures/hub_models.json"
ENCODERS = {"bert": AutoModel.from_config, "t5": T5EncoderModel}


def parameters(numbers):
    """Of the class that docs/zoo.md names; shared weights count once."""
    kind = numbers.pop("model_type")
    numbers.pop("quantization_config", None)  # Weights as they were trained.
    decoder = (AutoModelForImageTextToText if "vision_config" in numbers
               else AutoModelForCausalLM)
    maker = ENCODERS.get(kind, decoder.from_config)
    with torch.device("meta"):
        network = maker(AutoConfig.for_model(kind, **numbers))
    return sum(weight.numel() for weight in network.parameters())


def main():
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(("model", "parameters"))
    for row in json.loads(TABLE.read_text())["models"]:
        if "config" in row:  # Else make_diffusion_golden.py has it.
            rows.writerow((row["names"][0], parameters(row["config"])))


if __name__ == "__main__":
    main()
