"""Writers of torch.export's archives: any graph, honest or not, as records.

The graph takes a weight w f32[4,4], a constant c f32[] and the input x f32[2,4].
"""

import json
import struct

FLOAT, LONG, TRAINED, FIXED = 7, 5, True, False
MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
ATEN = "torch.ops.aten."
HIGHER = "torch.ops.higher_order."


def tensor(name):
    return {"as_tensor": {"name": name}}


def tensors(*names):
    return {"as_tensors": [{"name": name} for name in names]}


def graph(value):
    return {"as_graph": {"name": "g", "graph": value}}


def named(name):
    """A symbolic number that a node has made."""
    return {"as_sym_int": {"as_name": name}}


def value_of(value):
    """An argument: a text names a tensor, numbers are what they are."""
    if isinstance(value, str):
        return tensor(value)
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, list):
        return {"as_ints": value}
    return value


def node(target, result, *positional, **by_name):
    """A call; `result` is a name, or the whole argument that receives it."""
    inputs = [{"name": "", "arg": value_of(value), "kind": 1}
              for value in positional]
    inputs += [{"name": name, "arg": value_of(value), "kind": 1}
               for name, value in by_name.items()]
    return {"target": target, "inputs": inputs, "name": "n",
            "outputs": [value_of(result)], "metadata": {}}


def aten(operator, result, **by_name):
    """An operator of its default overload, unless it names another."""
    overload = "" if "." in operator else ".default"
    return node(ATEN + operator + overload, result, **by_name)


def linear(result="y", of="x"):
    return aten("linear", result, input=of, weight="w")


def expression(text, hint=None):
    """A size that is a formula."""
    rest = {} if hint is None else {"hint": {"as_int": hint}}
    return {"as_expr": {"expr_str": text, **rest}}


def sized(sizes, dtype=FLOAT, trains=FIXED, strides=(), offset=0, **rest):
    return {"dtype": dtype, "requires_grad": trains, "layout": 7,
            "sizes": [size if isinstance(size, dict) else {"as_int": size}
                      for size in sizes],
            "strides": [{"as_int": stride} for stride in strides],
            "storage_offset": {"as_int": offset},
            "device": {"type": "cpu", "index": None}, **rest}


def body(inputs, nodes, *outputs, values=None):
    """A graph of tensors."""
    return {"inputs": [value_of(one) for one in inputs],
            "outputs": [value_of(one) for one in outputs],
            "nodes": list(nodes), "tensor_values": values or {},
            "sym_int_values": {}, "sym_bool_values": {}}


def user_input(name):
    return {"user_input": {"arg": tensor(name)}}


def parameter(value, name):
    return {"parameter": {"arg": {"name": value}, "parameter_name": name}}


def constant(value, name):
    return {"tensor_constant": {"arg": {"name": value},
                                "tensor_constant_name": name}}


def model(*nodes, x=(2, 4), w=(4, 4), inputs=(), values=None, specs=(),
          outputs=("y",), output_specs=None, version=(8, 20), **root):
    """The document; `inputs`, `values` and `specs` add to those of w, c and x."""
    shapes = {"w": sized(w, trains=TRAINED), "c": sized(()), "x": sized(x)}
    return {
        "schema_version": {"major": version[0], "minor": version[1]},
        "torch_version": "2.13.0", "verifiers": ["TRAINING"],
        "range_constraints": {}, **root,
        "graph_module": {
            "graph": body(["w", "c", "x", *inputs], nodes or [linear()],
                          *outputs, values={**shapes, **(values or {})}),
            "signature": {
                "input_specs": [parameter("w", "w"), constant("c", "c"),
                                user_input("x"), *specs],
                "output_specs": output_specs or [
                    {"user_output": {"arg": value_of(one)}}
                    for one in outputs]}}}


def changed(change, *nodes, **rest):
    """A model that `change` is done to."""
    document = model(*nodes, **rest)
    change(document)
    return document


def table(*rows):
    """A config of weights or constants: name → record."""
    return json.dumps({"config": {
        name: {"path_name": path, "use_pickle": False} for name, path in rows}})


def records(document=None, *more, text=None):
    """Those of an archive with the document, or with `text` in its place."""
    content = json.dumps(document) if text is None else text
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return [("m/" + name, data) for name, data in [
        ("archive_format", "pt2"), (".data/version", "3\n"),
        ("byteorder", "little"),
        ("data/constants/tensor_0", struct.pack("<f", 1)),
        (CONSTANTS, table(("c", "tensor_0"))), (MODEL, content), *more]]


def honest(*more):
    return records(model(), *more)
