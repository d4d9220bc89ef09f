"""A Hugging Face folder as a torch.export file: the network that config.json
describes, by transformers on the meta device, without weights.

    python huggingface.py FOLDER OUTPUT.pt2 NOTE

Code of the folder is never run. The batch is left open, and so is the length of the
text, under the name "sequence", where the network's code allows it.
"""

import importlib.util
import inspect
import json
import logging
import os
import pathlib
import re
import sys
import warnings
import zipfile

os.environ["HF_HUB_OFFLINE"] = "1"

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 2
TOKENS = 128
SEQUENCE = "sequence"


def of_package(name):
    """A file of the Python package, which `foretell` puts beside this one: the package
    itself is not installed here."""
    folders = (HERE, HERE.parent / "foretell")
    path = next(folder / f"{name}.py" for folder in folders
                if (folder / f"{name}.py").exists())
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_config(folder):
    import transformers
    path = pathlib.Path(folder, "config.json")
    fields = json.loads(path.read_text(encoding="utf-8"))
    kind = fields.get("model_type")
    if "auto_map" in fields:
        sys.exit("Error: its network is code of its own (auto_map), which is not run; "
                 "export it by torch.export")
    if kind not in transformers.CONFIG_MAPPING:
        sys.exit(f"Error: config.json has the model_type {kind!r}, which transformers "
                 f"{transformers.__version__} does not have; export the network by "
                 "torch.export")
    config = transformers.CONFIG_MAPPING[kind].from_dict(fields)
    config.use_cache = False
    return config


def make_model(config):
    """The class that the configuration names, else the base network."""
    import torch
    import transformers
    name = (config.architectures or [""])[0]
    make = getattr(transformers, name, None) or transformers.AutoModel
    with torch.device("meta"):
        model = (make.from_config(config) if make is transformers.AutoModel
                 else make(config))
    model.to(getattr(config, "dtype", None) or torch.float32)
    return model.eval()


def image_of(config):
    import torch
    vision = getattr(config, "vision_config", config)
    size = getattr(vision, "image_size", None) or 224
    size = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(vision, "num_channels", None) or 3
    return torch.zeros(BATCH, channels, *size)


def inputs_of(model):
    """What forward takes, by the names of its inputs, with texts of TOKENS where it has
    as many positions: types alone count. Other scripts export on these, too
    (scripts/lib/export_sources.py)."""
    import torch
    config = model.config
    names = inspect.signature(model.forward).parameters
    text = getattr(config, "text_config", config)
    length = min(TOKENS, getattr(text, "max_position_embeddings", None) or TOKENS)
    ids = torch.zeros(BATCH, length, dtype=torch.long)
    bins = getattr(config, "num_mel_bins", None) or 80
    frames = 2 * (getattr(config, "max_source_positions", None) or 512)
    known = {"input_ids": ids, "pixel_values": image_of(config),
             "decoder_input_ids": ids,
             "input_features": torch.zeros(BATCH, bins, frames),
             "input_values": torch.zeros(BATCH, 16000)}
    inputs = {name: value for name, value in known.items() if name in names}
    return {name: value if value.dtype == torch.long else value.to(model.dtype)
            for name, value in inputs.items()}


def export(model, inputs):
    """With open sizes where the network's code allows them."""
    import torch
    texts = [name for name, value in inputs.items() if value.dtype == torch.long]
    auto = torch.export.Dim.AUTO
    shapes = {name: {0: auto, 1: auto} if name in texts else {0: auto}
              for name in inputs}
    batches = {name: {0: auto} for name in inputs}
    on_meta = of_package("_on_meta")
    failure = None
    for dynamic in (shapes, batches, None):
        try:
            return on_meta.tried_on_meta(lambda: torch.export.export(
                model, (), inputs, dynamic_shapes=dynamic, strict=False))
        except Exception as error:  # torch.export raises whatever the network does
            failure = failure or error
    lines = str(failure).strip().splitlines() or [type(failure).__name__]
    sys.exit(f"Error: {type(model).__name__}: torch.export cannot export it: {lines[0]}")


def length_symbol(program):
    """The symbol of the text's length; None where that is fixed."""
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name == "input_ids":
            found = re.fullmatch(r"s\d+", str(node.meta["val"].shape[1]))
            return found and found.group()
    return None


def save(program, output):
    """Writes the file, with a name for the length that torch.export gives a number."""
    import torch
    symbol = length_symbol(program)
    if symbol is None:
        torch.export.save(program, output)
        return
    torch.export.save(program, "unnamed.pt2")
    with zipfile.ZipFile("unnamed.pt2") as old, zipfile.ZipFile(output, "w") as new:
        for record in old.infolist():
            content = old.read(record)
            if record.filename.endswith("/models/model.json"):
                content = re.sub(rb"\b%b\b" % symbol.encode(), SEQUENCE.encode(),
                                 content)
            new.writestr(record, content)


def main(folder, output, note):
    import torch
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    model = make_model(read_config(folder))
    with torch.device("meta"):
        inputs = inputs_of(model)
    if not inputs:
        sys.exit(f"Error: {type(model).__name__}: takes none of the inputs that are "
                 "known; export it by torch.export")
    save(export(model, inputs), output)
    shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in inputs.items())
    pathlib.Path(note).write_text(f"{type(model).__name__} without its weights, made "
                                  f"with {shapes}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
