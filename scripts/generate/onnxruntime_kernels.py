#!/usr/bin/env python3
"""Writes which operators ONNX Runtime's CUDA provider has no kernel for.

    scripts/generate/onnxruntime_kernels.py

Asks onnxruntime-gpu for the kernels that its providers register and rewrites
src/runtime/onnxruntime/kernel_rows.h (last run with 1.31.1). It needs a package whose
CUDA provider loads: a GPU, or libraries of CUDA that answer every call with success.
An operator is listed if the CPU provider has a kernel for a type that the CUDA provider
lacks, or if the latter computes in float32 but not in float16. Types are those of the
newest version's first operand that has the type of the result, or of its first operand.
"""

import collections
import pathlib

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "src" / "runtime" / "onnxruntime" / "kernel_rows.h"
TYPES = {"double": "f64", "float": "f32", "float16": "f16", "bfloat16": "bf16",
         "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64",
         "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool"}
# Their tensors are no operands of an operator that foretell records.
LEFT_OUT = ("Optional", "Sequence", "String", "Regex", "TfIdf", "SplitToSequence")
TEXT = '''#pragma once

#include <string_view>

// Kernels of ONNX Runtime {version}, written by
// scripts/generate/onnxruntime_kernels.py from what its providers register.

namespace foretell::runtime::ort {{

/// An operator of ai.onnx that lacks a kernel of the CUDA provider for some of
/// the types for which the CPU provider has one, or for float16.
struct KernelRow {{
  std::string_view name;
  std::string_view cuda;  ///< Types with a kernel, as DTypeName has them.
  std::string_view cpu;
}};

/// Sorted by name.
// clang-format off
inline constexpr KernelRow kKernelRows[] = {{
{rows}
}};
// clang-format on

}}  // namespace foretell::runtime::ort
'''


def newest_schemas():
    schemas = {}
    for schema in state.get_all_operator_schema():
        name = (schema.domain.removeprefix("ai.onnx"), schema.name)
        known = schemas.get(name)
        if known is None or known.since_version < schema.since_version:
            schemas[name] = schema
    return schemas


def main_type(schema):
    """Name of the type that the kernel computes in."""
    inputs = [one.typeStr for one in schema.inputs]
    results = [one.typeStr for one in schema.outputs]
    return next((one for one in inputs if one in results[:1]),
                (inputs or results or [""])[0])


def kernels_by_provider():
    """Types of the newest version, by operator, by provider."""
    kernels = collections.defaultdict(lambda: collections.defaultdict(dict))
    for kernel in state.get_all_opkernel_def():
        if kernel.domain in ("", "ai.onnx"):
            versions = kernels[kernel.provider][kernel.op_name]
            versions.setdefault(kernel.version_range, []).append(kernel.type_constraints)
    return {provider: {name: versions[max(versions)] for name, versions in rows.items()}
            for provider, rows in kernels.items()}


def types_of(rows, schema):
    wanted = main_type(schema)
    listed = {one for row in rows for one in row.get(wanted, [])}
    names = {one.removeprefix("tensor(").removesuffix(")") for one in listed}
    return [short for long, short in TYPES.items() if long in names]


def lines():
    kernels = kernels_by_provider()
    cuda, cpu = kernels["CUDAExecutionProvider"], kernels["CPUExecutionProvider"]
    schemas = newest_schemas()
    for name in sorted(cpu):
        schema = schemas.get(("", name))
        if schema is None or name.startswith(LEFT_OUT):
            continue
        there, here = types_of(cuda.get(name, []), schema), types_of(cpu[name], schema)
        lacks_float16 = "f32" in there and "f16" not in there
        if lacks_float16 or set(here) - set(there):
            yield f'    {{"{name}", "{" ".join(there)}", "{" ".join(here)}"}},'


def main():
    HEADER.write_text(TEXT.format(version=onnxruntime.__version__,
                                  rows="\n".join(lines())))


if __name__ == "__main__":
    main()
