#!/usr/bin/env python3
"""Exports networks of timm, torchvision and transformers by torch.export, on the
meta device: without weights, so that any network takes seconds and the file holds
no more than its graph. Beside NAME.pt2 it writes NAME.json: parameters,
multiply-accumulates by PyTorch's own counter, and what went wrong. A network whose
shapes depend on data (detection) is drafted on the CPU by draft_export, which computes
with random weights and writes them; NAME.json then says "draft".

    python scripts/generate/exported_programs.py out --library timm --match '^resnet'
    python scripts/generate/exported_programs.py --small

`--small` writes the files of tests/frontends/data/exported instead, which need
torch alone. Files that are there are left alone, so a run can be continued.
"""

import argparse
import json
import multiprocessing
import pathlib
import re
import sys
import time

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from export_sources import SOURCES, tried_on_meta  # noqa: E402

SECONDS_PER_NETWORK = 1800


def multiply_accumulates(model, args, kwargs):
    """Of one forward pass, with attention as matrix products."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), \
            FlopCounterMode(display=False) as counter:
        model(*args, **kwargs)
    return counter.get_total_flops() // 2


def count_exported(program, args, kwargs, facts):
    """Counts the exported program where eager code cannot be: transformers' masks ask
    tensors for values, which those of the meta device lack."""
    if "macs" in facts:
        return
    try:
        facts["macs"] = multiply_accumulates(program.module(), args, kwargs)
        del facts["macs_error"]
    except Exception as error:
        facts["macs_error"] += f"; exported: {str(error).splitlines()[0][:200]}"


def free_batch(args, kwargs):
    """Dynamic shapes in which the leading dimension of each tensor may vary."""
    def of(value):
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            return {0: torch.export.Dim.AUTO}
        if isinstance(value, (list, tuple)):
            return type(value)(of(item) for item in value)
        return None
    return (tuple(of(value) for value in args),
            {name: of(value) for name, value in kwargs.items()})


def dynamic_shapes_of(args, kwargs):
    shapes, named = free_batch(args, kwargs)
    if not kwargs:
        return shapes
    return named if not args else None


def built_on_meta(build):
    """(model, args, kwargs); some networks look at values while they are built."""
    try:
        with torch.device("meta"):
            return build()
    except NotImplementedError:
        model, args, kwargs = build()
        return (model.to("meta"), *torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda tensor: tensor.to("meta"), (args, kwargs)))


def draft_one(build, path, train):
    """As export_one, where shapes depend on data."""
    torch.manual_seed(0)
    model, args, kwargs = build()
    model.train(train)
    start = time.monotonic()
    program = torch.export.draft_export(model, args, kwargs, strict=False)
    torch.export.save(program, path)
    return {"parameters": sum(p.numel() for p in model.parameters()), "draft": True,
            "seconds": round(time.monotonic() - start, 1)}


def export_one(build, path, train, fixed):
    """Writes one file and returns what is known of the network."""
    model, args, kwargs = built_on_meta(build)
    model.train(train)
    facts = {"parameters": sum(p.numel() for p in model.parameters())}
    try:
        facts["macs"] = multiply_accumulates(model, args, kwargs)
    except Exception as error:  # The counter knows fewer operators than export.
        facts["macs_error"] = str(error).splitlines()[0][:200]
    start = time.monotonic()
    shapes = None if fixed else dynamic_shapes_of(args, kwargs)
    program = tried_on_meta(lambda: torch.export.export(
        model, args, kwargs, dynamic_shapes=shapes, strict=False))
    torch.export.save(program, path)
    facts["seconds"] = round(time.monotonic() - start, 1)
    count_exported(program, args, kwargs, facts)
    return facts


def worker(build, path, train, fixed):
    import logging
    import warnings
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    try:
        try:
            facts = export_one(build, path, train, fixed)
        except GuardOnDataDependentSymNode:
            facts = draft_one(build, path, train)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        facts = {"error": f"{type(error).__name__}: {lines[0][:300]}"}
        path.unlink(missing_ok=True)
    path.with_suffix(".json").write_text(json.dumps(facts) + "\n")


def export_all(options):
    options.out.mkdir(parents=True, exist_ok=True)
    names, build = SOURCES[options.library]()
    chosen = [n for n in names if re.search(options.match, n)]
    context = multiprocessing.get_context("fork")
    for number, name in enumerate(chosen[options.first::options.every], 1):
        path = options.out / (name.replace("/", "_") + ".pt2")
        if path.with_suffix(".json").exists():
            continue
        child = context.Process(
            target=worker, args=(lambda: build(name), path, options.train,
                                 options.fixed))
        child.start()
        child.join(SECONDS_PER_NETWORK)
        if child.is_alive():
            child.kill()
            path.unlink(missing_ok=True)
            path.with_suffix(".json").write_text(
                json.dumps({"error": "export took too long"}) + "\n")
        print(number, name, path.with_suffix(".json").read_text().strip(),
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--library", choices=sorted(SOURCES), default="timm")
    parser.add_argument("--match", default="", help="regular expression")
    parser.add_argument("--first", type=int, default=0, help="skip so many")
    parser.add_argument("--every", type=int, default=1, help="take each n-th")
    parser.add_argument("--train", action="store_true",
                        help="export in train() rather than eval()")
    parser.add_argument("--fixed", action="store_true",
                        help="fix the batch rather than leave it free")
    options = parser.parse_args()
    if options.small:
        from small_exports import write_all
        write_all()
    elif options.out:
        export_all(options)
    else:
        parser.error("a folder or --small is needed")


if __name__ == "__main__":
    main()
