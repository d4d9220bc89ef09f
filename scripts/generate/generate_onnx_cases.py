#!/usr/bin/env python3
"""Writes the ONNX project's backend test cases of the installed `onnx` package.

    scripts/generate/generate_onnx_cases.py DIR [--groups node,simple,...]

Layout, the one that every ONNX backend knows:

    DIR/<group>/<case>/model.onnx
    DIR/<group>/<case>/test_data_set_<N>/{input,output}_<K>.pb
    DIR/<group>/<case>/data.json      tolerances, only where not the default
    DIR/manifest.json                 onnx version and number of cases per group

Groups: `node` (one operator, made by the package's own Python code), `simple`,
`pytorch-operator`, `pytorch-converted` (files of the package) and `real` (nine
classic networks whose weights are generators; inputs as the ONNX runner makes
them). Nothing is downloaded. The output is the same on every run; a folder
whose manifest already tells the same version and groups is left alone unless
`--force` is given.
"""

import argparse
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import numpy_helper

GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")
DEFAULT_RTOL = 1e-3
DEFAULT_ATOL = 1e-7
MANIFEST = "manifest.json"


def to_proto(value, value_info):
    """The message that holds `value`, of the kind that its type declares."""
    kind = value_info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, value_info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, value_info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, value_info.name)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), value_info.name)


def write_message(path, message):
    path.write_bytes(message.SerializeToString(deterministic=True))


def write_data_set(folder, model, inputs, outputs):
    folder.mkdir(parents=True)
    for prefix, values, infos in (("input", inputs, model.graph.input),
                                  ("output", outputs, model.graph.output)):
        for i, (value, info) in enumerate(zip(values, infos)):
            write_message(folder / f"{prefix}_{i}.pb", to_proto(value, info))


def write_tolerances(folder, rtol, atol):
    if (rtol, atol) != (DEFAULT_RTOL, DEFAULT_ATOL):
        text = json.dumps({"rtol": rtol, "atol": atol}, sort_keys=True)
        (folder / "data.json").write_text(text + "\n")


def write_in_memory_case(folder, case):
    """A case that the package builds in Python."""
    folder.mkdir(parents=True)
    write_message(folder / "model.onnx", case.model)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        write_data_set(folder / f"test_data_set_{i}", case.model, inputs,
                       outputs)
    write_tolerances(folder, case.rtol, case.atol)


def write_file_case(folder, case):
    """A case that lies ready in the package."""
    shutil.copytree(case.model_dir, folder,
                    copy_function=shutil.copyfile)
    write_tolerances(folder, case.rtol, case.atol)


def ramp(value_info):
    """The input that the ONNX runner feeds to its weight-free networks."""
    shape = [d.dim_value if d.HasField("dim_value") else 1
             for d in value_info.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def write_light_case(folder, case):
    """A classic network, of which the package ships graph and output."""
    package = pathlib.Path(onnx.__file__).parent
    source = package.parent / case.url
    model = onnx.load(source)
    folder.mkdir(parents=True)
    shutil.copyfile(source, folder / "model.onnx")
    data_set = folder / "test_data_set_0"
    data_set.mkdir()
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input
              if info.name not in initializers]
    for i, info in enumerate(inputs):
        write_message(data_set / f"input_{i}.pb",
                      numpy_helper.from_array(ramp(info), info.name))
    for i in range(len(model.graph.output)):
        expected = source.with_name(f"{source.stem}_output_{i}.pb")
        shutil.copyfile(expected, data_set / f"output_{i}.pb")
    write_tolerances(folder, case.rtol, case.atol)


def write_case(folder, case):
    if case.model is not None:
        write_in_memory_case(folder, case)
    elif case.model_dir is not None:
        write_file_case(folder, case)
    else:
        write_light_case(folder, case)


def write_group(folder, group):
    """Writes all cases of a group and returns their number."""
    from onnx.backend.test.loader import load_model_tests
    shutil.rmtree(folder, ignore_errors=True)
    cases = load_model_tests(kind=group)
    for case in cases:
        write_case(folder / case.name, case)
    return len(cases)


def read_manifest(root):
    try:
        return json.loads((root / MANIFEST).read_text())
    except (OSError, ValueError):
        return {}


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--groups", default=",".join(GROUPS),
                        help="comma-separated, default: all")
    parser.add_argument("--force", action="store_true",
                        help="write even where the manifest says up to date")
    return parser.parse_args(argv)


def main(argv):
    arguments = parse_arguments(argv)
    groups = arguments.groups.split(",")
    unknown = sorted(set(groups) - set(GROUPS))
    if unknown:
        sys.exit(f"unknown group {', '.join(unknown)}; known: "
                 f"{', '.join(GROUPS)}")
    root = arguments.directory
    manifest = read_manifest(root)
    if manifest.get("onnx") != onnx.__version__:
        manifest = {"onnx": onnx.__version__, "cases": {}}
    for group in groups:
        if group not in manifest["cases"] or arguments.force:
            manifest["cases"][group] = write_group(root / group, group)
        print(f"{group}: {manifest['cases'][group]} cases")
    # Last, so that an interrupted run is not taken for a complete one.
    (root / MANIFEST).write_text(
        json.dumps(manifest, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
