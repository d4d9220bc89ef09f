#!/usr/bin/env python3
"""Writes frontends/shared/private_operators.h: the private operators of ATen, those
that begin with an underscore, that a file may name.

They are what PyTorch's public functions call: every function of PyTorch's own table of
operators (OpInfo) is called on its sample inputs, traced, and recorded as torch.export
does, before and after decomposition. What that table lacks is in MORE, by hand.
Private operators check less than public ones, so those that are known to trust what
they are given are in REFUSED, with the reason.

Needs, beside torch (not part of scripts/setup, because only scripts of this folder do):
    pip install expecttest numpy

usage: scripts/generate/private_operators.py [--out FILE]     (takes two minutes)
"""

import argparse
import pathlib
import warnings

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

MOST_SAMPLES = 12
MOST_EXPORTS = 3
TYPES = (torch.float32, torch.int64, torch.complex64, torch.bool)

MORE = {
    "low precision and quantised products": (
        "_grouped_mm", "_int_mm", "_scaled_mm", "_scaled_mm_v2",
        "_weight_int4pack_mm", "_weight_int8pack_mm"),
    "training with quantised values": (
        "_fake_quantize_learnable_per_channel_affine",
        "_fake_quantize_learnable_per_tensor_affine"),
    "casts": (
        "_autocast_to_full_precision", "_autocast_to_reduced_precision",
        "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long"),
    "checks that torch.export writes": (
        "_assert_async", "_assert_scalar", "_assert_tensor_metadata",
        "_functional_assert_async", "_functional_assert_scalar"),
    "what a tracer and a compiler write": (
        "_get_tracing_state", "_infer_size", "_set_item", "_shape_as_tensor",
        "_unwrap_optional"),
    "whole layers": (
        "_fused_rms_norm", "_native_multi_head_attention",
        "_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned",
        "_pack_padded_sequence", "_pad_packed_sequence",
        "_transformer_encoder_layer_fwd"),
    "variants of a device or an overload": (
        "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_embedding_bag",
        "_euclidean_dist", "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_fused_attention_overrideable", "_unsafe_index",
        "_unsafe_index_put", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa",
        "_upsample_lanczos2d_aa", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "_weight_norm",
        "_weight_norm_interface"),
}

REFUSED = {
    "_batch_norm_with_update": "writes statistics of any length",
    "_ctc_loss": "reads by labels that are not checked against the alphabet",
    "_segment_reduce": "reads by lengths whose sum is not checked",
    "_sparse_mm_reduce_impl": "reads by indices that are not checked",
    "_standard_gamma": "need not end for NaN",
    "_sample_dirichlet": "need not end for NaN",
    "_reshape_alias": "makes views beyond the storage",
    "_weight_int4pack_mm_for_cpu": "reads as many scales as it expects",
}

HEADER = '''\
#pragma once

// Written by scripts/generate/private_operators.py from PyTorch {version}.

#include <string_view>

namespace foretell {{

/// Private operators of ATen that files may name, sorted.
// clang-format off
inline constexpr std::string_view kPrivateOperators[] = {{
{rows}
}};
// clang-format on

}}  // namespace foretell
'''


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


class Names(TorchDispatchMode):
    """Private operators of ATen that anything below it calls."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def add(self, text, separator):
        space, _, rest = text.partition(separator)
        name = rest.split(".")[0]
        if space == "aten" and is_private(name):
            self.found.add(name)

    def __torch_dispatch__(self, function, _types, args=(), kwargs=None):
        self.add(str(function), ".")
        return function(*args, **(kwargs or {}))

    def of_trace(self, function, tensors):
        traced = torch.jit.trace(function, tensors, check_trace=False)
        for node in traced.inlined_graph.nodes():
            self.add(node.kind(), "::")

    def of_export(self, function, tensors):
        graph = make_fx(function, pre_dispatch=True)(*tensors).graph
        for node in graph.nodes:
            if node.op == "call_function":
                self.add(str(node.target), ".")


def taking_tensors(operator, sample):
    """`operator` on `sample` as a function of its tensors, and these."""
    values, form = tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = tuple(v.detach() for v in values if isinstance(v, torch.Tensor))

    def function(*given):
        rest = iter(given)
        filled = [next(rest) if isinstance(v, torch.Tensor) else v for v in values]
        first, args, kwargs = tree_unflatten(filled, form)
        return operator(first, *args, **kwargs)

    return function, tensors


def attempt(call, *args):
    """Not every function can be called, traced and exported on every sample."""
    try:
        call(*args)
    except Exception:  # pylint: disable=broad-except
        pass


def sweep_type(operator, dtype, names):
    trains = dtype.is_floating_point and operator.supports_autograd
    samples = operator.sample_inputs("cpu", dtype, requires_grad=trains)
    for number, sample in enumerate(samples):
        if number >= MOST_SAMPLES:
            break
        function, tensors = taking_tensors(operator, sample)
        with names:
            attempt(function, *tensors)
        attempt(names.of_trace, function, tensors)
        if number < MOST_EXPORTS:
            attempt(names.of_export, function, tensors)


def sweep():
    from torch.testing._internal.common_methods_invocations import op_db

    names = Names()
    for operator in op_db:
        if is_private(operator.name.split(".")[-2 if ".ops." in operator.name
                                                else -1]):
            continue  # Not public.
        for dtype in TYPES:
            if dtype in operator.dtypes:
                attempt(sweep_type, operator, dtype, names)
    return names.found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=pathlib.Path,
                        default=root / "frontends/shared/private_operators.h")
    out = parser.parse_args().out
    warnings.simplefilter("ignore")
    names = sweep().union(*MORE.values()) - REFUSED.keys()
    missing = [name for name in names if not hasattr(torch.ops.aten, name)]
    assert not missing, f"not in this PyTorch: {missing}"
    rows = ",\n".join(f'    "{name}"' for name in sorted(names))
    out.write_text(HEADER.format(version=torch.__version__.split("+")[0],
                                 rows=rows))


if __name__ == "__main__":
    main()
