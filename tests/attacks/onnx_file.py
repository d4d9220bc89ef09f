"""Writers of ONNX files: any message, honest or not, as bytes.

Field numbers are those of onnx.proto.
"""

import struct

FLOAT, INT64, STRING, BOOL, UINT64 = 1, 7, 8, 9, 13
IR_VERSION, OPSET = 10, 18


SMALL = [bytes([number]) for number in range(0x80)]


def varint(number):
    if 0 <= number < 0x80:
        return SMALL[number]
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, content):
    """One field of a message: a number, or text and bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields(number, contents):
    return b"".join(field(number, content) for content in contents)


def shape_of(value):
    """[[1, 2, 3]] has the shape (1, 3)."""
    if not isinstance(value, list):
        return ()
    return (len(value),) + (shape_of(value[0]) if value else ())


def flat(value):
    if not isinstance(value, list):
        return [value]
    return [one for part in value for one in flat(part)]


def tensor(name, dims=(), data_type=FLOAT, raw=None, rest=b""):
    """A TensorProto, whether or not its payload fits its shape."""
    return (fields(1, dims) + field(2, data_type) + rest + field(8, name) +
            (b"" if raw is None else field(9, raw)))


def literal(name, value, data_type=None):
    """A tensor of numbers, or of nested lists of them."""
    numbers = flat(value)
    if data_type is None:
        data_type = {bool: BOOL, int: INT64, float: FLOAT}[type(numbers[0])]
    letter = {BOOL: "?", INT64: "q", FLOAT: "f", UINT64: "Q"}[data_type]
    return tensor(name, shape_of(value), data_type,
                  struct.pack(f"<{len(numbers)}{letter}", *numbers))


def ones(name, *dims):
    size = 1
    for length in dims:
        size *= length
    return tensor(name, dims, FLOAT, struct.pack("<f", 1) * size)


class Graph(bytes):
    """A GraphProto, told from a string where it is an attribute."""


def attribute(name, value):
    if isinstance(value, Graph):
        return field(1, name) + field(6, value) + field(20, 5)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, list):
        return field(1, name) + fields(8, value) + field(20, 7)
    return field(1, name) + field(3, value) + field(20, 2)


def node(operator, inputs, outputs, *, name="", domain="", **attributes):
    """Names of inputs and outputs have blanks between them; "_" is none."""
    def split(names):
        return names if isinstance(names, list) else [
            "" if one == "_" else one for one in names.split()]
    return (fields(1, split(inputs)) + fields(2, split(outputs)) +
            field(3, name) + field(4, operator) +
            fields(5, [attribute(*pair) for pair in attributes.items()]) +
            field(7, domain))


def value_info(name, shape=None, data_type=FLOAT):
    """A size that is text is a named dimension."""
    dims = b"" if shape is None else field(2, fields(1, [
        field(2 if isinstance(size, (str, bytes)) else 1, size)
        for size in shape]))
    return field(1, name) + field(2, field(1, field(1, data_type) + dims))


def graph(nodes, initializers=(), inputs=(), outputs=(), name="g"):
    return Graph(fields(1, nodes) + field(2, name) + fields(5, initializers) +
                 fields(11, inputs) + fields(12, outputs))


def function(name, nodes, domain="d"):
    """A function of a and b."""
    return (field(1, name) + field(4, "a") + field(5, "b") + fields(7, nodes) +
            fields(9, [opset(OPSET), opset(1, domain)]) + field(10, domain))


def opset(version, domain=""):
    return field(1, domain) + field(2, version)


def file_of(graph_bytes, opsets=(opset(OPSET),), functions=()):
    return (field(1, IR_VERSION) + field(7, graph_bytes) +
            fields(8, opsets) + fields(25, functions))


def model(nodes, initializers=(), inputs=None, **rest):
    """A file with the input x[4] and the output y, unless told otherwise."""
    return file_of(
        graph(nodes, initializers,
              [value_info("x", (4,))] if inputs is None else inputs,
              [value_info("y")]), **rest)
