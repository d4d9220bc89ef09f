"""torch.export files that try to do harm: what is expected of each (onnx_cases says
how), and the function that makes its records.

ARCHIVES holds those that are damaged afterwards, too. SECOND_LINE are those that harm
nothing without a sandbox. FLAGS holds the flags of those that need some.
"""

import json

from exported_archive import (CONSTANTS, LONG, MODEL, WEIGHTS, aten, body, changed,
                              constant, expression, graph, HIGHER, honest, linear,
                              model, named, node, parameter, records, sized,
                              table, tensor, tensors, user_input)
from onnx_cases import ANSWERED, ODD, REFUSED
from pickle_cases import overlapping, oversized

MEBI = 1 << 20
MOST, LEAST = (1 << 63) - 1, -(1 << 63)
PICKLE = b"\x80\x02cos\nsystem\n(X\x05\0\0\0falsetR."
DOCUMENT = json.dumps(model())


def replaced(old, new, count=1):
    """The text of an honest document with a part of it changed."""
    assert old in DOCUMENT, old
    return records(text=DOCUMENT.replace(old, new, count))


def of_nodes(*nodes, **rest):
    return lambda: records(model(*nodes, **rest))


def of_change(change, *nodes, **rest):
    return lambda: records(changed(change, *nodes, **rest))


def of_text(text):
    return lambda: records(text=text() if callable(text) else text)


def with_records(*more):
    return lambda: honest(*more)


def of_version(text):
    return lambda: [(name, text if name.endswith("/version") else content)
                    for name, content in honest()]


def without(*names):
    return lambda: [record for record in honest()
                    if record[0].removeprefix("m/") not in names]


# ---- Archives ---------------------------------------------------------------

# Records, and what is done to the bytes of the archive.
ARCHIVES = {
    "zip bomb of a graph": (REFUSED, of_text(lambda: " " * (1 << 28)), None),
    "zip bomb of weights' names": (
        REFUSED, with_records((WEIGHTS, bytes(1 << 28))), None),
    "zip bomb that nobody reads": (
        ANSWERED, with_records(("data/weights/weight_0", bytes(1 << 28)),
                               ("data/sample_inputs/model.pt", bytes(1 << 28)),
                               ("extra/mode", bytes(1 << 28))), None),
    "names above the folder": (
        REFUSED, lambda: honest() + [("m/../../../../owned", b"x"),
                                    ("/owned", b"x")], None),
    "a graph twice": (REFUSED, with_records((MODEL, "{}")), None),
    "150,000 weights": (ANSWERED, with_records(*[
        (f"data/weights/weight_{k}", b"") for k in range(150000)]), None),
    "150,000 graphs": (ANSWERED, with_records(*[
        (f"models/{k}.json", "{}") for k in range(150000)]), None),
    "entries that overlap": (REFUSED, honest, overlapping),
    "entries of 2 GB": (REFUSED, honest, oversized),
    "half an archive": (REFUSED, honest,
                        lambda content: content.__delitem__(
                            slice(len(content) // 2, None))),
    "no graph": (REFUSED, without(MODEL), None),
    "no marker": (REFUSED, without("archive_format"), None),
    "nothing but a marker": (REFUSED, lambda: honest()[:3], None),
    "compiled code": (REFUSED, lambda: honest()[:3] + [
        ("m/data/aotinductor/model/model.so", b"\x7fELF")], None),
    "compiled code beside a graph": (ANSWERED, with_records(
        ("data/aotinductor/model/model.so", b"\x7fELF")), None),
    "code of TorchScript beside a graph": (ANSWERED, with_records(
        ("data.pkl", PICKLE), ("code/__torch__.py", "import os\n"),
        ("constants.pkl", PICKLE)), None),
    "a graph of an odd name": (ANSWERED, with_records(
        (f"models/{ODD.replace(chr(0), '')}.json", "{}")), None),
    "graphs in folders above": (ANSWERED, with_records(
        ("models/../../../etc/passwd.json", "{}")), None),
    "version of 1e9": (REFUSED, of_version("1000000000\n"), None),
    "version of letters": (REFUSED, of_version("abc"), None),
    "another order of bytes": (ANSWERED, with_records(("byteorder", "big")), None),
    "mode of escapes": (ANSWERED, with_records(("extra/mode", ODD[:16])), None),
    "pickle for a graph": (REFUSED, of_text(PICKLE), None),
    "pickles that nobody reads": (ANSWERED, with_records(
        ("data/sample_inputs/model.pt", PICKLE),
        ("data/weights/weight_0", PICKLE),
        (WEIGHTS, table(("w", "weight_0")).replace(
            '"use_pickle": false', '"use_pickle": true'))), None),
    "pickle for weights' names": (REFUSED, with_records((WEIGHTS, PICKLE)), None),
    "weights' names that nest": (
        REFUSED, with_records((WEIGHTS, "[" * MEBI)), None),
    "weights' names in a list": (
        REFUSED, with_records((WEIGHTS, '{"config": [["w", "weight_0"]]}')),
        None),
    "weights' names, 300,000 of them": (ANSWERED, with_records(
        (WEIGHTS, table(*[(f"w{k}", "weight_0") for k in range(300000)]))),
        None),
    **{f"weights in {name}": (ANSWERED, with_records(
        (WEIGHTS, table(("w", path)))), None) for name, path in [
            ("a file of the user", "/etc/passwd"),
            ("a folder above", "../../../../../etc/passwd"),
            ("a device", "/dev/zero"), ("themselves", "model_weights_config.json"),
            ("a cut name", "weight\0_0"), ("odd names", ODD)]},
    "weights shorter than their shape": (ANSWERED, with_records(
        ("data/weights/weight_0", bytes(4)),
        (WEIGHTS, table(("w", "weight_0")))), None),
    "weights longer than their shape": (ANSWERED, with_records(
        ("data/weights/weight_0", bytes(MEBI)),
        (WEIGHTS, table(("w", "weight_0")))), None),
    "constant without its record": (
        ANSWERED, without("data/constants/tensor_0"), None),
    "constant without its name": (ANSWERED, without(CONSTANTS), None),
}

# ---- JSON -------------------------------------------------------------------


def members(count):
    """An object of so many empty ones."""
    return "{" + ",".join(f'"a{k}":{{}}' for k in range(count)) + "}"


TEXTS = {
    "nothing": "",
    "a number": "7",
    "a list": "[]",
    "an empty object": "{}",
    "no UTF-8": b"\xff\xfe{}",
    "half a document": DOCUMENT[:len(DOCUMENT) // 2],
    "two documents": DOCUMENT + DOCUMENT,
    "text after the document": DOCUMENT + "\0garbage",
    "a million lists in each other": "[" * MEBI,
    "a million objects in each other": '{"a":' * MEBI,
    "nesting that is dropped": lambda: DOCUMENT[:-1] + ', "custom": ' +
        "[" * 100000 + "]" * 100000 + "}",
    "30 million values": lambda: '{"a": [' + "0," * 30000000 + "0]}",
    "30 million dropped values": lambda: DOCUMENT[:-1] + ', "custom": [' +
        "0," * 30000000 + "0]}",
    "a number beyond all": DOCUMENT.replace('"as_int": 4', '"as_int": 1e999'),
    "a number that is none": DOCUMENT.replace('"as_int": 4', '"as_int": NaN'),
    "a string with a line in it": DOCUMENT.replace("aten.linear", "aten\n.linear"),
    "half a surrogate": DOCUMENT.replace("2.13.0", "\\ud800"),
    "a field twice": DOCUMENT.replace('"torch_version"', '"schema_version": 1, '
                                      '"torch_version"'),
}
JSON_ENDLESS = {
    "300,000 members": lambda: DOCUMENT[:-1] + ', "a": ' + members(300000) + "}",
    "300,000 members of metadata": lambda: DOCUMENT.replace(
        '"metadata": {}', '"metadata": ' + members(300000)),
}

# ---- Sizes, types, names ----------------------------------------------------


def value(**change):
    """An entry of a tensor that `change` is done to, by its name."""
    def on(document):
        entries = document["graph_module"]["graph"]["tensor_values"]
        for name, fields in change.items():
            entries[name].update(fields)
    return of_change(on)


def dimension(argument):
    """x f32[that,4]."""
    return lambda: records(model(x=(argument, 4)))


def nested(operator, levels, inner):
    return f"{operator}(" * levels + inner + ")" * levels


S0 = "Symbol('s0', positive=True, integer=True)"
FORMULAS = {
    "Mul a million deep": nested("Mul", MEBI, "Integer(2)"),
    "Add of a million": "Add(" + ", ".join(["Integer(1)"] * 200000) + ")",
    "a number of 70 bits": f"Mul(Integer({1 << 70}), {S0})",
    "the least number": f"Integer({LEAST})",
    "the least number and a symbol": f"Add(Integer({LEAST}), {S0})",
    "the least number times itself": f"Mul(Integer({LEAST}), Integer({LEAST}))",
    "products beyond 64 bits": "Mul(" + ", ".join(
        ["Integer(2147483647)"] * 8) + f", {S0})",
    "no end": "Mul(Integer(2), Symbol('s0'",
    "no name": "Symbol('', integer=True)",
    "a name of a million letters": "Symbol('" + "s" * MEBI + "')",
    "an odd name": f"Symbol('{ODD}')",
    "a call of Python": "__import__('os').system('true')",
    "a division": f"FloorDiv({S0}, Integer(0))",
    "a power": f"Pow({S0}, Integer(1000000000))",
    "text after it": S0 + ")))",
    "nothing": "",
}


def ranged(low, high, size=S0, hint=2):
    return lambda: records(model(
        x=(expression(size, hint), 4),
        range_constraints={"s0": {"min_val": low, "max_val": high}}))


# 0 elements, so that no check of elements stops the other sizes.
def no_elements(*sizes):
    return lambda: records(model(
        aten("relu", "y", self="x"), x=(2, 0, *sizes)))


SHAPES = {
    "a size of -1": (REFUSED, dimension(-1)),
    "a size of 2.5": (REFUSED, dimension({"as_int": 2.5})),
    "a size of a text": (REFUSED, dimension({"as_int": "2"})),
    "a size of nothing": (REFUSED, dimension({})),
    "a size of two kinds": (REFUSED, dimension({"as_int": 2, "as_float": 2})),
    "a size of 2^63": (REFUSED, dimension(1 << 63)),
    "a size of 2^64": (REFUSED, dimension(1 << 64)),
    "an input of 2^62": (REFUSED, lambda: records(model(x=(1 << 60, 4)))),
    "an input beyond 64 bits": (REFUSED, lambda: records(
        model(x=(1 << 40, 1 << 40)))),
    "sizes beyond 64 bits of no element": (
        REFUSED, no_elements(1 << 40, 1 << 40)),
    "the largest size of no element": (REFUSED, no_elements(MOST, MOST)),
    "an input of rank 100": (REFUSED, lambda: records(model(x=(1,) * 100))),
    "an input of rank 0": (REFUSED, lambda: records(model(x=()))),
    "a weight beyond 64 bits": (REFUSED, lambda: records(
        model(w=(1 << 40, 1 << 40)))),
    "a weight of 2^50": (REFUSED, lambda: records(model(w=(1 << 48, 4)))),
    "a weight below 0": (REFUSED, lambda: records(model(w=(-4, -4)))),
    "a weight of a symbol": (REFUSED, lambda: records(
        model(w=(expression(S0, 4), 4)))),
    "4,000 weights of 2^43": (ANSWERED, lambda: records(model(
        inputs=[f"w{k}" for k in range(4000)],
        values={f"w{k}": sized((1 << 43,)) for k in range(4000)},
        specs=[parameter(f"w{k}", f"w{k}") for k in range(4000)]))),
    "element type 99": (REFUSED, value(w={"dtype": 99})),
    "element type 2^62": (REFUSED, value(w={"dtype": 1 << 62})),
    "element type 7.0": (REFUSED, value(w={"dtype": 7.0})),
    "layout 99": (ANSWERED, value(w={"layout": 99})),
    "a device of nowhere": (ANSWERED, value(
        w={"device": {"type": "\x1b[31m", "index": 1 << 40}})),
    "lying strides": (ANSWERED, value(
        c={"strides": [{"as_int": MOST}], "storage_offset": {"as_int": LEAST}},
        w={"strides": [{"as_int": 1 << 40}, {"as_int": -1}]})),
    "a trained number": (ANSWERED, value(c={"requires_grad": True,
                                          "dtype": LONG})),
    "gradients of a text": (REFUSED, value(w={"requires_grad": "true"})),
    **{f"a formula of {name}": (ANSWERED, dimension(expression(text, 2)))
       for name, text in FORMULAS.items()},
    **{f"an example of {hint}": (REFUSED, dimension(expression(S0, hint)))
       for hint in (-1, 0, LEAST, MOST)},
    "an example of 2.5": (REFUSED, lambda: records(model(x=(
        {"as_expr": {"expr_str": S0, "hint": {"as_float": 2.5}}}, 4)))),
    "an example of a text": (REFUSED, lambda: records(model(x=(
        {"as_expr": {"expr_str": S0, "hint": "2"}}, 4)))),
    "a range from top to bottom": (REFUSED, ranged(9, 3)),
    "a range below 0": (REFUSED, ranged(LEAST, -1)),
    "a range of 0.5": (REFUSED, ranged(0.5, 9)),
    "a range of texts": (REFUSED, ranged("a", "b")),
    "a range beyond 64 bits": (REFUSED, ranged(0, 1 << 64)),
    "ranges in a list": (REFUSED, lambda: records(
        model(range_constraints=[1, 2]))),
    "ranges of an odd symbol": (ANSWERED, lambda: records(
        model(range_constraints={ODD: {"min_val": 2}}))),
    "sizes that overflow a symbol": (REFUSED, lambda: records(model(
        aten("relu", "y", self="x"), inputs=["z"],
        x=(2, 0, expression(S0, 1 << 62)), values={"z": sized(
            (2, 0, expression(f"Mul(Integer(2147483647), {S0})", 4)))},
        specs=[user_input("z")]))),
    "a symbol below the least": (REFUSED, no_elements(
        expression(f"Add(Integer(-2147483648), {S0})", MOST))),
}

# ---- The document -----------------------------------------------------------


def graph_of(document):
    return document["graph_module"]["graph"]


def signature_of(document):
    return document["graph_module"]["signature"]


def with_outputs(*specs):
    return lambda: records(model(output_specs=list(specs)))


def mutation(name):
    return {"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": name}}


def odd(document):
    node = graph_of(document)["nodes"][0]
    node["name"] = ODD
    node["metadata"] = {
        "nn_module_stack": f"{ODD},{ODD},{ODD};{ODD},{ODD},{ODD}",
        "stack_trace": f'File "{ODD}/{ODD}", line {ODD}, in'}
    document["torch_version"] = ODD


def odd_names():
    """Of a weight, an input, a module."""
    text = json.dumps(changed(odd))
    for name in ("w", "x", "y"):
        text = text.replace(f'"{name}"', json.dumps(name + ODD))
    return records(text=text)


DOCUMENTS = {
    "schema 9.0": (REFUSED, of_nodes(version=(9, 0))),
    "schema 7.9": (REFUSED, of_nodes(version=(7, 9))),
    "schema 8.10^9": (ANSWERED, of_nodes(version=(8, 10**9))),
    "schema 8.-5": (ANSWERED, of_nodes(version=(8, -5))),
    "schema 8.0 as a fraction": (REFUSED, of_nodes(version=(8.0, 20))),
    "schema 2^64": (REFUSED, of_nodes(version=(1 << 64, 0))),
    "schema of texts": (REFUSED, of_nodes(version=("8", "20"))),
    "a future schema of odd words": (REFUSED, lambda: records(
        model(version=(9, 0), torch_version=ODD))),
    "verifiers that are none": (ANSWERED, of_nodes(verifiers=[ODD, 7, None])),
    "verifiers of a number": (REFUSED, of_nodes(verifiers=7)),
    "no signature": (REFUSED, of_change(
        lambda document: document["graph_module"].pop("signature"))),
    "fewer specs than inputs": (REFUSED, of_change(
        lambda document: signature_of(document)["input_specs"].pop())),
    "more specs than inputs": (REFUSED, of_nodes(specs=[user_input("x")])),
    "fewer specs than outputs": (REFUSED, of_change(
        lambda document: signature_of(document)["output_specs"].clear())),
    "a weight without its value": (REFUSED, of_change(
        lambda document: graph_of(document)["tensor_values"].pop("w"))),
    "an object of Python": (REFUSED, of_nodes(
        inputs=["o"], specs=[{"custom_obj": {"arg": {"name": "o"},
                                             "custom_obj_name": "o"}}])),
    "a token": (REFUSED, of_nodes(
        inputs=["o"], specs=[{"token": {"arg": {"name": "o"}}}])),
    "an input of no kind": (REFUSED, of_nodes(inputs=["o"], specs=[{}])),
    "a graph as an input": (ANSWERED, of_nodes(
        inputs=[graph(body([], []))],
        specs=[{"user_input": {"arg": graph(body([], []))}}])),
    "a constant of 2^40": (ANSWERED, of_nodes(
        inputs=["k"], values={"k": sized((1 << 40,))},
        specs=[constant("k", "k")])),
    "a weight twice": (ANSWERED, of_nodes(
        inputs=["v"], values={"v": sized((4, 4))}, specs=[parameter("v", "w")])),
    "a value twice": (REFUSED, of_nodes(inputs=["x"], specs=[user_input("x")])),
    "an output of nowhere": (REFUSED, of_nodes(outputs=["z"])),
    "no output": (ANSWERED, of_nodes(outputs=[])),
    "a graph as an output": (REFUSED, of_nodes(
        outputs=[graph(body(["a"], [], "a"))])),
    "an output of no kind": (REFUSED, with_outputs({"oops": {}})),
    "a buffer that is none": (REFUSED, with_outputs(mutation(ODD))),
    "a constant that is written": (REFUSED, with_outputs(mutation("c"))),
    "an output that is written to an input": (ANSWERED, with_outputs(
        {"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}})),
    "odd names": (ANSWERED, odd_names),
    "odd names, unknown operator": (REFUSED, of_nodes(
        node("torch.ops." + ODD, "y", self="x"))),
    "odd names, bad shape": (REFUSED, of_change(
        odd, aten("view", "y", self="x", size=[7]))),
    "a name of 20 MB": (REFUSED, of_nodes(
        aten("relu", "y", self="z" * (20 * MEBI)))),
    "an operator of 20 MB": (REFUSED, of_nodes(
        node("torch.ops.aten." + "z" * (20 * MEBI) + ".default", "y"))),
    "30,000 unknown operators": (REFUSED, lambda: records(model(
        *[node(f"torch.ops.mine.{k}{'z' * 500}.default", f"y{k}", self="x")
          for k in range(30000)], outputs=["y0"]))),
}

# ---- Arguments --------------------------------------------------------------

# An operator, and an argument that is wrong for it.
ARGUMENTS = {
    "a text for a number": ("softmax.int", dict(self="x", dim={"as_string": "1"})),
    "a number for a tensor list": ("cat", dict(tensors=7)),
    "numbers for tensors": ("cat", dict(tensors=[1, 2])),
    "nothing in a tensor list": ("cat", dict(tensors={"as_optional_tensors": [
        {"as_none": True}]})),
    "a tensor for numbers": ("view", dict(self="x", size="x")),
    "texts for numbers": ("view", dict(self="x", size={"as_strings": ["2", "4"]})),
    "fractions for numbers": ("view", dict(self="x", size={"as_floats": [2., 4.]})),
    "a complex number": ("softmax.int", dict(self="x", dim={
        "as_complex": {"real": 1, "imag": 1e308}})),
    "a complex number of texts": ("add.Scalar", dict(self="x", other={
        "as_complex": {"real": "inf", "imag": []}})),
    "a device for a flag": ("sum", dict(self="x", dtype={"as_device": {}})),
    "a graph for a tensor": ("relu", dict(self=graph(body([], [])))),
    "an object": ("relu", dict(self={"as_custom_obj": {
        "name": "o", "class_fqn": "__main__.Evil"}})),
    "an operator for a tensor": ("relu", dict(self={"as_operator": "os.system"})),
    "lists in lists": ("view", dict(self="x", size={"as_int_lists": [[2], [4]]})),
    "a generator": ("normal_", dict(self="x", generator=7)),
    "a storage": ("set_.source_Storage", dict(self="x", source=7)),
    "no arguments": ("linear", {}),
    "an argument that there is not": ("relu", dict(self="x", evil=7)),
    "a size beyond 64 bits": ("view", dict(self="x", size=[1 << 64])),
    "a size below 0": ("view", dict(self="x", size=[-2, -4])),
    "sizes that overflow": ("view", dict(self="x", size=[1 << 62, 4, 1 << 62])),
    "element type 10^9": ("sum", dict(self="x", dtype=10**9)),
    "element type -1": ("to.dtype", dict(self="x", dtype=-1)),
    "scalar type 99": ("sum", dict(self="x", dtype={"as_scalar_type": 99})),
    "layout 77": ("zeros_like", dict(self="x", layout=77)),
    "a sparse layout": ("zeros_like", dict(self="x", layout={"as_layout": 1})),
    "memory format 77": ("contiguous", dict(self="x", memory_format=77)),
    "memory format 99": ("contiguous", dict(self="x", memory_format={
        "as_memory_format": 99})),
    "a kind of tomorrow": ("relu", dict(self={"as_future": "x"})),
}

# Operators that reach out, or whose sizes do. All make y.
REACHING = {
    "a file of the user": aten("from_file", "y", filename={
        "as_string": "/etc/passwd"}),
    "view of any length": aten("_reshape_alias", "y", self="x",
                               size=[10**8], stride=[1]),
    "stack through a meta operator": aten(
        "_remove_batch_dim", "y", self="x", level=7, batch_size=10**9,
        out_dim=10**9),
    "gradients by hand": aten("_backward", "y", self="x", inputs=tensors()),
    "another tensor's storage": aten("set_.source_Tensor", "y", self="x",
                                     source="c"),
    "data of another tensor": aten("set_data", "y", self="w", new_data="c"),
    "a program": node("os.system", "y", {"as_string": "true"}),
    "a getter of Python": node("_operator.attrgetter", "y",
                               {"as_string": "__class__"}),
    "a record of a profiler": node(
        "torch.ops.profiler._record_function_enter.default", "y",
        name={"as_string": ODD}),
    "a collective": node("torch.ops._c10d_functional.all_reduce.default", "y",
                         input="x"),
    "a call of no name": node("torch.ops.aten", "y", self="x"),
    "a call of dots": node("torch.ops....", "y", self="x"),
    "a call of nothing": node("", "y", self="x"),
}


# c is a number on the host: what makes many of it, and indices out of range.
def on_host(*nodes):
    return of_nodes(*nodes, aten("add.Tensor", "y", self="x", other="z"))


MANY = aten("expand", "m", self="c", size=[4])
FAR = aten("full", "i", size=[4], fill_value=10**12,
           dtype={"as_scalar_type": LONG})
ON_HOST = {
    "strides beyond the end": [aten("as_strided", "z", self="c", size=[10**8],
                                    stride=[1])],
    "strides below the start": [aten("as_strided", "z", self="c", size=[4],
                                     stride=[-1], storage_offset=10**6)],
    "gather beyond the end": [MANY, FAR, aten("gather", "z", self="m", dim=0,
                                              index="i")],
    "take beyond the end": [MANY, FAR, aten("take", "z", self="m", index="i")],
    "put beyond the end": [MANY, FAR, aten("index_put", "z", self="m", indices={
        "as_optional_tensors": [tensor("i")]}, values="m")],
    "scatter beyond the end": [MANY, FAR, aten("scatter.src", "z", self="m",
                                               dim=0, index="i", src="m")],
    "a size of a constant": [
        node("torch.ops.aten.item.default",
             {"as_sym_int": {"as_name": "k"}}, self="c"),
        aten("expand", "z", self="c", size={"as_sym_ints": [
            {"as_name": "k"}, {"as_name": "k"}]})],
    "10^9 numbers on the host": [aten("expand", "m", self="c", size=[10**9]),
                                aten("clone", "z", self="m")],
    "memory of a host's tensor": [aten("resize_", "z", self="c",
                                       size=[1 << 40])],
}

# ---- Numbers ----------------------------------------------------------------


def computed(*calls):
    """Numbers, the last of which is a size."""
    nodes = [node(target, {"as_sym_int": {"as_name": f"k{i}"}}, *operands)
             for i, (target, *operands) in enumerate(calls)]
    return of_nodes(*nodes, aten("expand", "e", self="x", size={"as_sym_ints": [
        {"as_name": f"k{len(calls) - 1}"}, {"as_int": 2}, {"as_int": 4}]}),
        linear(of="e"))


NUMBERS = {
    "divided by zero": [("_operator.floordiv", 1, 0)],
    "true division by zero": [("_operator.truediv", 1, 0)],
    "modulo zero": [("_operator.mod", 1, 0)],
    "the least by minus one": [("_operator.floordiv", LEAST, -1)],
    "the least modulo minus one": [("_operator.mod", LEAST, -1)],
    "less than the least": [("_operator.neg", LEAST)],
    "shift by 2^62": [("_operator.lshift", 1, 1 << 62)],
    "shift by the least": [("_operator.rshift", 1, LEAST)],
    "power of 2^62": [("_operator.pow", 3, 1 << 62)],
    "the least to 2^62": [("_operator.pow", LEAST, 1 << 62)],
    "power below 0": [("_operator.pow", 0, -1)],
    "floor of infinity": [("math.floor", {"as_float": "Infinity"})],
    "a number of NaN": [("torch.sym_int", {"as_float": "NaN"})],
    "sum of texts": [("torch.sym_sum", {"as_strings": ["a", "b"]})],
    "no operands": [("_operator.add",)],
    "a tensor plus one": [("_operator.add", "x", 1)],
    "a size of 2^62": [("_operator.mul", 1 << 31, 1 << 31)],
    "a choice of nothing": [("torch.sym_ite", True)],
}

# ---- Order, loops, graphs in graphs -----------------------------------------

SAME = body(["t"], [], "t")
RELU = body(["t"], [aten("relu", "u", self="t")], "u")


def call(operator, *positional, result="y"):
    return node(HIGHER + operator, result, *positional)


def always():
    """A condition that is never wrong."""
    return body(["t"], [], {"as_bool": True})


def inline(levels, inner=RELU):
    """Graphs in each other that call the next."""
    value = inner
    for _ in range(levels):
        value = body(["t"], [call("wrap", graph(value), "t", result="u")], "u")
    return value


def maps(levels):
    value = RELU
    for _ in range(levels):
        value = body(["t"], [
            aten("expand", "e", self="t", size=[1000, 2, 4]),
            call("map_impl", graph(value), tensors("e"), tensors(),
                 result=tensors("u"))], "u")
    return value


GRAPHS = {
    "a cycle": (REFUSED, of_nodes(aten("relu", "a", self="y"),
                                  aten("relu", "y", self="a"))),
    "a node that reads itself": (REFUSED, of_nodes(aten("relu", "y", self="y"))),
    "a result twice": (REFUSED, of_nodes(linear(), linear())),
    "a result over an input": (REFUSED, of_nodes(linear("x"))),
    "a value of the graph around": (REFUSED, of_nodes(
        call("wrap", graph(body(["t"], [aten("relu", "u", self="x")], "u")), "x"))),
    "more results than there are": (REFUSED, of_nodes(
        aten("relu", tensors("y", "z"), self="x"))),
    "a list of a tensor's results": (REFUSED, of_nodes(aten(
        "split.Tensor", tensors(*[f"y{k}" for k in range(1000)]), self="x",
        split_size=1), outputs=["y999"])),
    "no graph to call": (REFUSED, of_nodes(call("wrap", "x"))),
    "fewer operands than inputs": (REFUSED, of_nodes(
        call("wrap", graph(RELU)))),
    "more operands than inputs": (REFUSED, of_nodes(
        call("wrap", graph(RELU), "x", "x"))),
    "a number for an operand": (REFUSED, of_nodes(
        call("wrap", graph(RELU), {"as_string": "x"}))),
    "one branch": (REFUSED, of_nodes(call(
        "cond", False, graph(RELU), tensors("x")))),
    "a branch by a text": (REFUSED, of_nodes(call(
        "cond", {"as_string": "x"}, graph(RELU), graph(RELU), tensors("x")))),
    "a branch by a graph": (REFUSED, of_nodes(call(
        "cond", graph(RELU), graph(RELU), tensors("x")))),
    "a branch without a list": (REFUSED, of_nodes(call(
        "cond", True, graph(RELU), graph(RELU), "x"))),
    "a map over nothing": (REFUSED, of_nodes(call(
        "map_impl", graph(RELU), tensors(), tensors()))),
    "a map over a number": (REFUSED, of_nodes(call(
        "map_impl", graph(RELU), tensors("c"), tensors()))),
    "maps of two lengths": (REFUSED, of_nodes(
        aten("expand", "e", self="c", size=[9]),
        call("map_impl", graph(body(["s", "t"], [], "s")), tensors("e", "x"),
             tensors(), result=tensors("y")))),
    "a scan of two lengths": (REFUSED, of_nodes(
        aten("expand", "e", self="x", size=[9, 2, 4]),
        call("scan", graph(body(["s", "t"], [], "s")), tensors(),
             tensors("e", "x"), tensors(), result=tensors("y")))),
    "a scan that carries less": (REFUSED, of_nodes(
        call("scan", graph(body(["s", "t"], [])), tensors("x"), tensors("x"),
             tensors(), result=tensors("y")))),
    "autocast to type 10^9": (REFUSED, of_nodes(call(
        "wrap_with_autocast", {"as_string": "cpu"}, 10**9, True, False,
        graph(RELU), "x"))),
    "autocast of a text": (REFUSED, of_nodes(call(
        "wrap_with_autocast", {"as_string": ODD}, {"as_string": ODD},
        {"as_string": "True"}, False, graph(RELU), "x"))),
    "20 graphs in each other": (ANSWERED, of_nodes(
        call("wrap", graph(inline(18)), "x", result="a"), linear(of="a"))),
    "100 graphs in each other": (REFUSED, of_nodes(
        call("wrap", graph(inline(100)), "x"))),
    "10 checkpoints in each other": (ANSWERED, lambda: records(text=json.dumps(
        model(linear("a"), call("wrap", graph(inline(10)), "a"))).replace(
            "wrap", "tag_activation_checkpoint"))),
    "no gradients for the next file": (ANSWERED, of_nodes(call(
        "wrap_with_set_grad_enabled", False, graph(RELU), "x"))),
    "no gradients, and an error": (REFUSED, of_nodes(call(
        "wrap_with_set_grad_enabled", False, graph(body(
            ["t"], [aten("view", "u", self="t", size=[7])], "u")), "x"))),
}

# Time and memory, which are limits of the process.
ENDLESS = {
    "loop without end": (REFUSED, of_nodes(call(
        "while_loop", graph(always()), graph(SAME), tensors("x"), tensors(),
        result=tensors("y")))),
    "loop without end that computes": (REFUSED, of_nodes(call(
        "while_loop", graph(always()), graph(RELU), tensors("x"), tensors(),
        result=tensors("y")))),
    "maps in maps": (REFUSED, of_nodes(
        call("wrap", graph(maps(10)), "x"))),
    "a map over 2^40": (REFUSED, of_nodes(
        aten("expand", "e", self="x", size=[1 << 40, 2, 4]),
        call("map_impl", graph(RELU), tensors("e"), tensors(),
             result=tensors("y")))),
    "a scan over 2^40": (REFUSED, of_nodes(
        aten("expand", "e", self="x", size=[1 << 40, 2, 4]),
        call("scan", graph(SAME), tensors(), tensors("e"), tensors(),
             result=tensors("y")))),
    "one long operator on meta": (REFUSED, of_nodes(
        aten("expand", "e", self="c", size=[10**8]),
        aten("empty_like", "z", self="e", device={"as_device": {"type": "meta"}}),
        aten("diff", "y", self="z", n=10**8))),
    "combinations": (REFUSED, of_nodes(
        aten("flatten.using_ints", "a", self="x"),
        aten("combinations", "y", self="a", r=7 * 10**8))),
    "parts of 2^40": (REFUSED, of_nodes(
        aten("expand", "e", self="x", size=[1 << 40, 2, 4]),
        aten("unbind.int", tensors("y"), self="e"))),
    "range of 1e18": (REFUSED, of_nodes(
        aten("arange", "r", end=10**18, device={"as_device": {"type": "cpu"}}),
        linear())),
    "loop without end on the CPU": (REFUSED, of_nodes(call(
        "while_loop", graph(always()), graph(body(
            ["t"], [aten("matmul", "u", self="t", other="t")], "u")),
        tensors("w"), tensors(), result=tensors("y")))),
    "an input of 2^40 on the CPU": (REFUSED, lambda: records(
        model(x=(1 << 38, 4)))),
    "200,000 nodes": (REFUSED, lambda: records(model(
        *[aten("relu", f"a{k}", self="x") for k in range(200000)], linear()))),
    "60,000 nodes": (ANSWERED, lambda: records(model(
        *[aten("relu", f"a{k}", self="x") for k in range(60000)], linear()))),
    "60,000 weights that nobody reads": (ANSWERED, lambda: records(model(
        inputs=[f"w{k}" for k in range(60000)],
        values={f"w{k}": sized((4, 4)) for k in range(60000)},
        specs=[parameter(f"w{k}", f"w{k}") for k in range(60000)]))),
}


def ranges_and_inputs():
    """30,000 inputs with a symbol each, and their ranges."""
    names = [f"s{k}" for k in range(30000)]
    return records(model(
        inputs=names, values={name: sized((expression(f"Symbol('{name}')", 3),))
                              for name in names},
        specs=[user_input(name) for name in names],
        range_constraints={name: {"min_val": 2, "max_val": 9}
                           for name in reversed(names)}))


MEMORY = {
    **{f"argument: {name}": (REFUSED, of_nodes(aten(operator, "y", **arguments)))
       for name, (operator, arguments) in ARGUMENTS.items()},
    **{f"on the host: {name}": (REFUSED, on_host(*nodes))
       for name, nodes in ON_HOST.items()},
    **{f"number: {name}": (REFUSED, computed(*calls))
       for name, calls in NUMBERS.items()},
    **{name: (REFUSED, of_nodes(call)) for name, call in REACHING.items()},
    **SHAPES,
    **GRAPHS,
}
CASES = {
    **{f"JSON: {name}": (REFUSED, of_text(text)) for name, text in TEXTS.items()},
    **{f"JSON: {name}": (ANSWERED, of_text(text))
       for name, text in JSON_ENDLESS.items()},
    **DOCUMENTS, **MEMORY, **ENDLESS,
    "30,000 ranges": (ANSWERED, ranges_and_inputs),
}
SECOND_LINE = MEMORY

FLAGS = {case: ["--trace", "cpu"] for case in CASES if case.endswith("CPU")}
