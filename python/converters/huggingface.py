"""A Hugging Face folder as a torch.export file: the network that config.json
describes, by transformers on the meta device, without weights.

    python huggingface.py FOLDER OUTPUT.pt2 NOTE

Code of the folder is never run. The batch is left open, and so is the length of the
text, under the name "sequence", where the network's code allows it.
"""

import importlib.util
import logging
import os
import pathlib
import re
import sys
import warnings
import zipfile

os.environ["HF_HUB_OFFLINE"] = "1"

HERE = pathlib.Path(__file__).resolve().parent
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


ON_META = of_package("_on_meta")
BATCH, TOKENS, inputs_of = ON_META.BATCH, ON_META.TOKENS, ON_META.inputs_of


def export(model, inputs):
    """With open sizes where the network's code allows them."""
    import torch
    texts = [name for name, value in inputs.items() if value.dtype == torch.long]
    auto = torch.export.Dim.AUTO
    shapes = {name: {0: auto, 1: auto} if name in texts else {0: auto}
              for name in inputs}
    batches = {name: {0: auto} for name in inputs}
    failure = None
    for dynamic in (shapes, batches, None):
        try:
            return ON_META.tried_on_meta(lambda: torch.export.export(
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
    try:
        model = ON_META.make_model(ON_META.read_config(folder)).eval()
    except ValueError as error:
        sys.exit(f"Error: {error}")
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
