"""ONNX files that try to do harm: what they are called, what is expected, and
the function that makes their bytes.

REFUSED: an error that names the file. ANSWERED: nothing is wrong with it, or
what is wrong is never looked at. EITHER: both are right.
"""

import struct

from onnx_file import (BOOL, INT64, SMALL, STRING, UINT64, field, fields, file_of,
                       function, graph, literal, model, node, ones,
                       opset, tensor, value_info)

REFUSED, ANSWERED, EITHER = "refused", "answered", "either"
HUGE, LEAST = 1 << 40, -(1 << 63)
RELU = node("Relu", "x", "y")
ADD = node("Add", "x w", "y")
# Escapes, markup, a formula, a turn of the direction of writing.
ODD = "\x1b[31mRED\x1b]0;T\x07\n<script>\"',=1+1\r\0\x85\u202e"

# One node on the host whose result nobody needs: "operator inputs", its
# attributes, and the values of its inputs beside those of VALUES.
VALUES = dict(k=[1], ten=list(range(10)), m=[[1.0, 1.0], [1.0, 1.0]],
              m4=[[[[1.0, 1.0], [1.0, 1.0]]]], d3=[[[1.0]] * 4],
              f4=[1.0, 1.0, 1.0, 1.0])
ON_HOST = {
    "expand to 1e18": (REFUSED, "Expand k s", {}, dict(s=[1 << 30] * 2)),
    "expand beyond 64 bits": (REFUSED, "Expand k s", {}, dict(s=[HUGE] * 2)),
    "tile 1e12": (REFUSED, "Tile k s", {}, dict(s=[10**12])),
    "tile 2^28": (REFUSED, "Tile k s", {}, dict(s=[1 << 28])),
    "range of 1e12": (EITHER, "Range b s d", {}, dict(b=0, s=10**12, d=1)),
    "range to NaN": (EITHER, "Range b s d", {},
                     dict(b=float("nan"), s=float("inf"), d=1.0)),
    "constant of 1e12": (EITHER, "ConstantOfShape s", {}, dict(s=[10**6] * 2)),
    "constant of -5": (REFUSED, "ConstantOfShape s", {}, dict(s=[-5])),
    "pad by 1e12": (REFUSED, "Pad k s", {}, dict(s=[0, 10**12])),
    "pad beyond 64 bits": (REFUSED, "Pad k s", {}, dict(s=[(1 << 63) - 1] * 2)),
    "pad by the least": (REFUSED, "Pad k s", {}, dict(s=[LEAST] * 2)),
    "slice by the least step": (EITHER, "Slice ten a b c d", {}, dict(
        a=[(1 << 63) - 1], b=[LEAST], c=[0], d=[LEAST])),
    "slice by 0": (REFUSED, "Slice ten a b c d", {},
                   dict(a=[0], b=[9], c=[0], d=[0])),
    "slice an axis of none": (REFUSED, "Slice ten a b c", {},
                              dict(a=[0], b=[9], c=[HUGE])),
    "gather outside": (REFUSED, "Gather ten s", {}, dict(s=[HUGE])),
    "gather below": (REFUSED, "Gather ten s", {}, dict(s=[LEAST])),
    "gather points outside": (REFUSED, "GatherND ten s", {}, dict(s=[[HUGE]])),
    "gather elements outside": (REFUSED, "GatherElements ten s", {},
                                dict(s=[HUGE])),
    "scatter outside": (REFUSED, "ScatterElements ten s v", {},
                        dict(s=[HUGE], v=[5])),
    "scatter points outside": (REFUSED, "ScatterND ten s v", {},
                               dict(s=[[HUGE]], v=[5])),
    "concat on an axis of none": (REFUSED, "Concat k k", dict(axis=HUGE), {}),
    "reshape beyond 64 bits": (REFUSED, "Reshape k s", {},
                               dict(s=[1 << 62] * 2)),
    "reshape to -2": (REFUSED, "Reshape k s", {}, dict(s=[-2])),
    "one-hot of 1e12": (REFUSED, "OneHot k s v", {},
                        dict(s=10**12, v=[0.0, 1.0])),
    "top 2^40": (REFUSED, "TopK f4 s", {}, dict(s=[HUGE])),
    "split to a sequence": (EITHER, "SplitToSequence f4 s", {}, dict(s=1)),
    "divide by 0": (REFUSED, "Div k s", {}, dict(s=[0])),
    "divide the least by -1": (EITHER, "Div l s", {}, dict(l=[LEAST], s=[-1])),
    "remainder of 0": (REFUSED, "Mod k s", {}, dict(s=[0])),
    "remainder of the least by -1": (EITHER, "Mod l s", {},
                                     dict(l=[LEAST], s=[-1])),
    "shift by 1000": (EITHER, "BitShift u v", dict(direction="LEFT"),
                      dict(u=[1], v=[1000])),
    "power of 2^62": (EITHER, "Pow k s", {}, dict(s=[1 << 62])),
    "diagonal at the least": (REFUSED, "EyeLike m", dict(k=LEAST), {}),
    "triangle at the least": (EITHER, "Trilu m s", {}, dict(s=LEAST)),
    "sum along an axis of none": (REFUSED, "CumSum k s", {}, dict(s=HUGE)),
    "what is not zero": (EITHER, "NonZero ten", {}, {}),
    "resize by 1e30": (REFUSED, "Resize m4 _ s", {},
                       dict(s=[1.0, 1.0, 1e30, 1e30])),
    "resize by NaN": (REFUSED, "Resize m4 _ s", {},
                      dict(s=[1.0, 1.0, float("nan"), float("inf")])),
    "resize to 1e12": (REFUSED, "Resize m4 _ _ s", {},
                       dict(s=[1, 1, 10**12, 10**12])),
    "window of 1e12": (REFUSED, "HannWindow s", {}, dict(s=10**12)),
    "window of -5": (REFUSED, "BlackmanWindow s", {}, dict(s=-5)),
    "mel weights of 1e7": (REFUSED, "MelWeightMatrix s s s a b", {},
                           dict(s=10**7, a=1.0, b=10.0)),
    "transform of 2^50": (REFUSED, "DFT d3 s", {}, dict(s=1 << 50)),
    "columns of 2^40": (REFUSED, "Col2Im d3 s b", {},
                        dict(s=[HUGE] * 2, b=[HUGE, 1])),
    "crop to 2^62": (REFUSED, "CenterCropPad k s", {}, dict(s=[1 << 62])),
}


def on_host(call, attributes, values):
    operator, *inputs = call.split()
    values = {**{name: VALUES[name] for name in VALUES if name in inputs},
              **values}
    kinds = dict(u=UINT64, v=UINT64) if operator == "BitShift" else {}
    return model(
        [node(operator, " ".join(inputs), "e e2" if operator == "TopK" else "e",
              **attributes), RELU],
        [literal(name, value, kinds.get(name))
         for name, value in values.items()])


# ---- Loops, functions, branches ---------------------------------------------


def loop_body(nodes=(), outputs=(), at=""):
    """A body that goes on for ever."""
    return graph([node("Identity", "c" + at, "co" + at), *nodes],
                 inputs=[value_info("i" + at, (), INT64),
                         value_info("c" + at, (), BOOL)],
                 outputs=[value_info("co" + at, (), BOOL), *outputs])


def loop(body, times, result="", initializers=()):
    return model([node("Loop", "n t", result, body=body)] +
                 ([] if result else [RELU]),
                 [literal("n", times), literal("t", True), *initializers])


def nested_loops(levels):
    body = loop_body()
    for level in range(levels):
        body = loop_body([node("Loop", "n t", "", body=body)], at=str(level))
    return loop(body, 90000)


def functions(*rows):
    """Functions of a domain, called from x to y."""
    return model([node(rows[0][0], "x", "y", domain="d")],
                 opsets=[opset(18), opset(1, "d")],
                 functions=[function(name, nodes) for name, nodes in rows])


def call(name, inputs="a", outputs="b"):
    return node(name, inputs, outputs, domain="d")


def doubling(levels):
    rows = [(f"F{k}", [call(f"F{k + 1}", "a", "m"), call(f"F{k + 1}", "m")])
            for k in range(levels)]
    return functions(*rows, (f"F{levels}", [node("Relu", "a", "b")]))


def branches(levels):
    def branch(number, nodes):
        return graph(nodes, outputs=[value_info(f"o{number}")])
    chosen = branch(0, [node("Relu", "x", "o0")])
    for level in range(1, levels + 1):
        other = graph([node("Relu", "x", f"z{level}")],
                      outputs=[value_info(f"z{level}")])
        chosen = branch(level, [node("If", "t", f"o{level}",
                                     then_branch=chosen, else_branch=other)])
    other = graph([node("Relu", "x", "z")], outputs=[value_info("z")])
    return model([node("If", "t", "y", then_branch=chosen, else_branch=other)],
                 [literal("t", True)])


def nested_messages(levels):
    inner = b""
    for _ in range(levels):
        then = field(1, "then_branch") + field(6, inner)
        inner = field(1, field(4, "If") + field(5, then))
    return file_of(inner)


# ---- Many of something ------------------------------------------------------


def chain(length, order=range):
    """x → x1 → … of `length` nodes, listed in `order`."""
    names = [field(1, f"x{k}" if k else "x")[1:] for k in range(length + 1)]
    relu = field(4, "Relu")
    nodes = []
    for k in order(length):
        # Tags of the node, its input and its output; all is below 128 bytes.
        one = b"\x0a" + names[k] + b"\x12" + names[k + 1] + relu
        nodes.append(b"\x0a" + SMALL[len(one)] + one)
    return b"".join(nodes) + field(11, value_info("x", (4,))) + field(
        12, value_info(f"x{length}"))


def backwards(length):
    return reversed(range(length))


def inputs_with_defaults(count):
    inputs = fields(11, [field(1, f"i{k}") for k in range(count)])
    initializers = fields(5, [tensor(f"i{count - 1 - k}", (0,))
                              for k in range(count)])
    return file_of(graph([RELU], (), [value_info("x", (4,))],
                         [value_info("y")]) + inputs + initializers)


# ---- Layers, tensors, wire --------------------------------------------------


def layer(operator, x, weights, **attributes):
    return model([node(operator, " ".join(["x", *weights]), "y", **attributes)],
                 [ones(name, *shape) for name, shape in weights.items()],
                 [value_info("x", x)])


def recurrent(operator, gates, steps, **attributes):
    return layer(operator, (steps, 1, 4),
                 dict(w=(1, gates, 4), r=(1, gates, 1)), **attributes)


def initializer(*dims, **rest):
    return model([ADD], [tensor("w", dims, **rest)])


def external(location):
    entries = [field(1, key) + field(2, value) for key, value in
               [("location", location), ("offset", "0"), ("length", "16")]]
    return initializer(4, rest=fields(13, entries) + field(14, 1))


def expanded(node_bytes, *more):
    """x expanded to e[1e9,4], then a node."""
    return model([node("Expand", "x s", "e"), node_bytes, *more],
                 [literal("s", [10**9, 4])])


SCANNED = graph([node("Relu", "a", "b")], inputs=[value_info("a")],
                outputs=[value_info("b")])
GOOD = model([RELU])
IMAGE, KERNEL = (1, 1, 4, 4), dict(w=(1, 1, 2, 2))
FOUR_ONES = struct.pack("<4f", 1, 1, 1, 1)

CASES = {
    **{name: (row[0], lambda row=row: on_host(*row[1:]))
       for name, row in ON_HOST.items()},
    "loop of 2^62": (REFUSED, lambda: loop(loop_body(), 1 << 62)),
    "loops of 90,000^4": (REFUSED, lambda: nested_loops(3)),
    "loop that collects": (REFUSED, lambda: loop(
        loop_body([node("Identity", "big", "o")], [value_info("o")]), 70000,
        "y", [literal("big", list(range(1000)))])),
    "scan of 2^40": (REFUSED, lambda: model(
        [node("Expand", "x s", "e"),
         node("Scan", "e", "y", num_scan_inputs=1, body=SCANNED)],
        [literal("s", [HUGE, 4])])),
    "function that calls itself": (REFUSED, lambda: functions(
        ("F", [call("F")]))),
    "functions that call each other": (REFUSED, lambda: functions(
        ("F", [call("G")]), ("G", [call("F")]))),
    "functions that double 40 times": (REFUSED, lambda: doubling(40)),
    "branches in 20 branches": (ANSWERED, lambda: branches(20)),
    "messages in 5,000 messages": (REFUSED, lambda: nested_messages(5000)),
    "split of a sequence to 1e9": (REFUSED, lambda: expanded(
        node("SplitToSequence", "e", "q"), node("SequenceLength", "q", "y"))),
    "split to 1e9": (REFUSED, lambda: expanded(
        node("Split", "e", "y", num_outputs=10**9, axis=0))),
    "split to 2e8": (REFUSED, lambda: expanded(
        node("Split", "e", "y", num_outputs=2 * 10**8, axis=0))),
    # 4 + 2^63 fits between two strides of 2^62: odd, and right.
    "convolution by 2^62": (EITHER, lambda: layer(
        "Conv", IMAGE, KERNEL, pads=[1 << 62] * 4, strides=[1 << 62] * 2,
        dilations=[1 << 62] * 2)),
    "convolution of 0 groups": (REFUSED, lambda: layer(
        "Conv", IMAGE, KERNEL, group=0)),
    "pool of the least": (REFUSED, lambda: layer(
        "MaxPool", IMAGE, {}, kernel_shape=[LEAST, 1 << 62], ceil_mode=1)),
    "LSTM of 2^62 units": (REFUSED, lambda: recurrent(
        "LSTM", 4, 1, hidden_size=1 << 62)),
    "LSTM of 1e8 steps": (EITHER, lambda: recurrent(
        "LSTM", 4, 10**8, hidden_size=1)),
    "GRU of 1e8 steps": (REFUSED, lambda: recurrent(
        "GRU", 3, 10**8, hidden_size=1, linear_before_reset=0)),
    "einsum of 50": (EITHER, lambda: model([node(
        "Einsum", ["x"] * 50, "y", equation=",".join("a" * 50) + "->a")])),
    "einsum of a million letters": (REFUSED, lambda: model([node(
        "Einsum", "x", "y", equation="a" * 1000000 + "->a")])),
    "a million texts": (REFUSED, lambda: model(
        [node("Identity", "t", "e"), RELU],
        [tensor("t", (1000000,), STRING, rest=field(6, "a") * 1000000)])),
    "dimensions beyond 64 bits": (REFUSED, lambda: initializer(HUGE, HUGE)),
    "dimension of -4": (REFUSED, lambda: initializer(-4)),
    "dimensions of -4 and -1": (REFUSED, lambda: initializer(
        -4, -1, raw=bytes(16))),
    "nothing times 2^124": (EITHER, lambda: initializer(0, 1 << 62, 1 << 62)),
    "half a tensor": (REFUSED, lambda: initializer(4, raw=bytes(8))),
    "tensor of rank 100": (REFUSED, lambda: initializer(
        *[1] * 100, raw=bytes(4))),
    "tensor of type 99": (REFUSED, lambda: initializer(4, data_type=99)),
    "tensor given twice": (REFUSED, lambda: initializer(
        4, raw=FOUR_ONES, rest=field(4, FOUR_ONES))),
    "no opset": (REFUSED, lambda: model([RELU], opsets=())),
    **{f"opset {version}": (REFUSED, lambda version=version: model(
        [RELU], opsets=[opset(version)]))
       for version in (0, 29, 10**9, LEAST, (1 << 63) - 1)},
    "an input twice": (REFUSED, lambda: model(
        [RELU], inputs=[value_info("x", (4,))] * 2)),
    "a cycle": (REFUSED, lambda: model(
        [node("Relu", "b", "y"), node("Relu", "y", "b")])),
    "an output twice": (REFUSED, lambda: model([RELU, RELU])),
    "an input of nowhere": (REFUSED, lambda: model([ADD])),
    "no output": (REFUSED, lambda: model([node("Relu", "x", "z")])),
    "300,000 nodes backwards": (REFUSED, lambda: file_of(
        chain(300000, backwards))),
    "a million nodes": (REFUSED, lambda: file_of(chain(1000000))),
    "140,000 nodes": (ANSWERED, lambda: file_of(chain(140000))),
    # So many that a search for each takes longer than the deadline.
    "200,000 inputs with defaults": (
        ANSWERED, lambda: inputs_with_defaults(200000)),
    "140,000 functions": (ANSWERED, lambda: file_of(
        chain(60000), functions=[field(1, f"{k:05x}") for k in range(140000)])),
    "a group": (REFUSED, lambda: GOOD + b"\xa3\x06\xa4\x06"),
    "half a number": (REFUSED, lambda: GOOD + b"\xff\xff\xff"),
    "number of 11 bytes": (
        REFUSED, lambda: b"\x08" + b"\xff" * 11 + b"\x01" + GOOD),
    "length of 2^63": (
        REFUSED, lambda: GOOD + b"\x3a" + b"\xff" * 9 + b"\x01"),
    "operator of no UTF-8": (
        REFUSED, lambda: GOOD.replace(b"Relu", b"\xff\xfe\x80\x81")),
    "field 0": (REFUSED, lambda: GOOD + b"\x02\x00"),
    "two graphs": (REFUSED, lambda: GOOD + GOOD),
    "nothing": (REFUSED, lambda: b""),
    "one byte": (REFUSED, lambda: b"\x08"),
    "name of 20 MB": (EITHER, lambda: file_of(
        graph([RELU], inputs=[value_info("x", (4,))],
              outputs=[value_info("y")], name="g" * (20 << 20)))),
    "odd names, unknown operator": (REFUSED, lambda: model(
        [node("NoSuch" + ODD, "x", "y", name=ODD)])),
    "odd names, bad shape": (REFUSED, lambda: model(
        [node("Reshape", "x s", "y", name=ODD)], [literal("s", [3])])),
    "odd names, no size": (REFUSED, lambda: model(
        [node("Relu", [ODD], "y", name=ODD)],
        inputs=[value_info(ODD, (3, "b\x1b[31m"))])),
}

# Answered without a look at the file that they name, on meta and on the CPU.
EXTERNAL = {
    f"weights in {name}": (ANSWERED, lambda location=location:
                           external(location))
    for name, location in [("a file of the user", "/etc/passwd"),
                           ("a folder above", "../../../../etc/passwd"),
                           ("a device", "/dev/zero"), ("a pipe", "pipe"),
                           ("a cut name", "a\0b")]}
CASES.update(EXTERNAL)
