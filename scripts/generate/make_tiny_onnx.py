#!/usr/bin/env python3
"""Write the small ONNX files of the reader's tests.

    scripts/generate/make_tiny_onnx.py [FOLDER]

Each file shows one part of the format; all are deterministic and below 5 kB.
Needs the `onnx` package.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DEFAULT_FOLDER = (pathlib.Path(__file__).resolve().parents[2] /
                  "tests/frontends/onnx_reader/data")
FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL


def tensor(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def value(name, shape, elem_type=FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


def model(graph, opset=17, functions=(), domains=(), ir_version=10):
    opsets = [helper.make_opsetid("", opset)]
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=functions,
                             producer_name="make_tiny_onnx",
                             producer_version="1", ir_version=ir_version)


def convolution():
    """Inline weights, a dynamic batch, an absent optional input."""
    rng = np.random.default_rng(0)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv1",
                          kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
         helper.make_node("Clip", ["c", "", "six"], ["y"], "clip1")],
        "convolution", [value("x", ["batch", 3, 8, None])],
        [value("y", ["batch", 4, 8, None])],
        [tensor("w", rng.standard_normal((4, 3, 3, 3))),
         tensor("b", [1, 2, 3, 4]), tensor("six", 6)])
    return model(graph)


def subgraphs():
    """If in a Loop; both use values of the graphs around them."""
    then_graph = helper.make_graph(
        [helper.make_node("Add", ["state", "step"], ["then_y"])], "then", [],
        [value("then_y", [2])])
    else_graph = helper.make_graph(
        [helper.make_node("Mul", ["state", "factor"], ["else_y"])], "else", [],
        [value("else_y", [2])], [tensor("factor", [3, 4])])
    body = helper.make_graph(
        [helper.make_node("If", ["go"], ["next"], then_branch=then_graph,
                          else_branch=else_graph),
         helper.make_node("Identity", ["go"], ["go_on"])], "body",
        [value("i", [], INT64), value("go", [], BOOL), value("state", [2])],
        [value("go_on", [], BOOL), value("next", [2])])
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["step"]),
         helper.make_node("Loop", ["count", "", "x"], ["y"], "loop",
                          body=body)],
        "subgraphs", [value("x", [2])], [value("y", [2])],
        [tensor("count", 3, np.int64)])
    return model(graph)


def functions():
    """A function that calls another one and passes an attribute on."""
    alpha = onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT,
                                ref_attr_name="slope")
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(alpha)
    inner = helper.make_function(
        "local", "Leaky", ["a"], ["b"], [leaky],
        [helper.make_opsetid("", 17)],
        attribute_protos=[helper.make_attribute("slope", 0.25)])
    outer = helper.make_function(
        "local", "LeakyTwice", ["p"], ["r"],
        [helper.make_node("Leaky", ["p"], ["q"], domain="local", slope=0.5),
         helper.make_node("Leaky", ["q"], ["r"], domain="local")],
        [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    outer.overload = "twice"
    call = helper.make_node("LeakyTwice", ["x"], ["y"], domain="local")
    call.overload = "twice"
    graph = helper.make_graph([call], "functions", [value("x", [4])],
                              [value("y", [4])])
    return model(graph, functions=[inner, outer], domains=["local"])


def external_tensor(name, shape, location):
    result = TensorProto(name=name, data_type=FLOAT, dims=shape,
                         data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", "0"),
                      ("length", "64")):
        result.external_data.add(key=key, value=text)
    return result


def external():
    """External data in places that must never be opened."""
    locations = ["missing.data", "../../etc/passwd", "/dev/zero"]
    weights = [external_tensor(f"w{i}", [4, 4], location)
               for i, location in enumerate(locations)]
    names = ["x", "h0", "h1", "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]])
             for i in range(3)]
    graph = helper.make_graph(nodes, "external", [value("x", ["n", 4])],
                              [value("y", ["n", 4])], weights)
    return model(graph)


def sparse_tensor(name, values, indices, shape):
    return helper.make_sparse_tensor(
        tensor(name, values), tensor(name + "_at", indices, np.int64), shape)


def sparse():
    """Sparse initializers with both kinds of indices; a sparse Constant."""
    constant = helper.make_node(
        "Constant", [], ["c"],
        sparse_value=sparse_tensor("", [7], [2], [3]))
    graph = helper.make_graph(
        [constant, helper.make_node("MatMul", ["x", "tuples"], ["h"]),
         helper.make_node("MatMul", ["h", "linear"], ["m"]),
         helper.make_node("Add", ["m", "c"], ["y"])],
        "sparse", [value("x", [1, 2])], [value("y", [1, 3])],
        sparse_initializer=[
            sparse_tensor("tuples", [1, 2], [[0, 1], [1, 2]], [2, 3]),
            sparse_tensor("linear", [5, 6], [1, 8], [3, 3])])
    return model(graph)


def sequences():
    """Sequence, optional and map types."""
    tensor_type = helper.make_tensor_type_proto(FLOAT, ["n", 2])
    sequence_type = helper.make_sequence_type_proto(tensor_type)
    optional_type = helper.make_optional_type_proto(sequence_type)
    map_type = helper.make_map_type_proto(INT64, tensor_type)
    graph = helper.make_graph(
        [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
         helper.make_node("SequenceAt", ["s", "zero"], ["y"]),
         helper.make_node("OptionalGetElement", ["o"], ["t"])],
        "sequences",
        [value("x", ["n", 2]), helper.make_value_info("o", optional_type),
         helper.make_value_info("m", map_type)],
        [value("y", ["n", 2]), helper.make_value_info("t", sequence_type)],
        [tensor("zero", 0, np.int64)])
    return model(graph, opset=18)


def typed_data():
    """Every data type of whole bytes in its typed field, and strings."""
    values = {
        "FLOAT": [1.5, -2], "UINT8": [1, 255], "INT8": [1, -2],
        "UINT16": [1, 65535], "INT16": [1, -2], "INT32": [1, -2],
        "INT64": [1, -2], "BOOL": [True, False], "FLOAT16": [1.5, -2],
        "DOUBLE": [1.5, -2], "UINT32": [1, 4294967295],
        "UINT64": [1, 18446744073709551615], "COMPLEX64": [1 + 2j, -3j],
        "COMPLEX128": [1 + 2j, -3j], "BFLOAT16": [1.5, -2],
        "FLOAT8E4M3FN": [1.5, -2], "FLOAT8E5M2": [1.5, -2],
        "STRING": [b"one", b""],
    }
    weights = [helper.make_tensor(name, getattr(TensorProto, name), [2], two)
               for name, two in values.items()]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["FLOAT"], ["y"])], "typed_data", [],
        [value("y", [2])], weights)
    return model(graph)


def small_types():
    """Types below one byte, typed and raw; three elements end in a byte."""
    def typed(name, code, items):
        return TensorProto(name=name, data_type=code, dims=[3],
                           int32_data=items)

    def raw(name, code, content):
        return TensorProto(name=name, data_type=code, dims=[3],
                           raw_data=content)
    weights = [
        typed("uint4", TensorProto.UINT4, [0x21, 0x03]),
        typed("int4", TensorProto.INT4, [0xf1, 0x02]),
        typed("float4", TensorProto.FLOAT4E2M1, [0x21, 0x03]),
        typed("int2", TensorProto.INT2, [0x39]),
        typed("float6", TensorProto.FLOAT6E2M3, [0x01, 0x02, 0x3f]),
        raw("uint4_raw", TensorProto.UINT4, b"\x21\x03"),
        raw("uint2_raw", TensorProto.UINT2, b"\x39"),
        raw("float6_raw", TensorProto.FLOAT6E3M2, b"\x81\xf0\x03"),
        raw("scale", TensorProto.FLOAT8E8M0, b"\x7f\x80\x81")]
    graph = helper.make_graph(
        [helper.make_node("Cast", ["uint4"], ["y"], to=FLOAT)], "small_types",
        [], [value("y", [3])], weights)
    return model(graph, opset=25, ir_version=14)


def unsorted():
    """Nodes against the order of the data, one of them through a subgraph."""
    branch = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["n"])], "branch", [],
        [value("n", [2])])
    graph = helper.make_graph(
        [helper.make_node("Add", ["b", "c"], ["y"], "last"),
         helper.make_node("If", ["flag"], ["c"], "choose",
                          then_branch=branch, else_branch=branch),
         helper.make_node("Exp", ["a"], ["b"], "second"),
         helper.make_node("Relu", ["x"], ["a"], "first")],
        "unsorted", [value("x", [2]), value("flag", [], BOOL)],
        [value("y", [2])])
    return model(graph)


def attributes():
    """Every kind of attribute on a node of a foreign domain."""
    graph_value = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "inner", [],
        [value("r", None)])
    type_value = helper.make_tensor_type_proto(FLOAT, [2, "m"])
    node = helper.make_node(
        "Everything", ["x"], ["y"], "all", domain="com.example",
        f=1.5, i=-7, s="text", t=tensor("t", [1, 2]), g=graph_value,
        sp=sparse_tensor("v", [9], [3], [4]), tp=type_value,
        floats=[0.5, 1.5], ints=[1, -1, 1 << 40], strings=["a", "bc"],
        tensors=[tensor("t0", [1]), tensor("t1", [2, 3], np.int64)],
        graphs=[graph_value],
        sps=[sparse_tensor("v", [9], [3], [4])], tps=[type_value])
    graph = helper.make_graph([node], "attributes", [value("x", [2])],
                              [value("y", None)])
    return model(graph, domains=["com.example"])


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for make in (convolution, subgraphs, functions, external, sparse,
                 sequences, typed_data, small_types, unsorted, attributes):
        path = folder / f"{make.__name__}.onnx"
        path.write_bytes(make().SerializeToString(deterministic=True))
        print(f"{path.name}: {path.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
