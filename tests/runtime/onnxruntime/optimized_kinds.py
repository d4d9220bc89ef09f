"""Prints the operators that ONNX Runtime leaves of small networks, by level, and by
whether it knows the batch N before it runs.

The lists in optimize_test.cc come from here (pip install onnx onnxruntime; last run
with 1.32.0). The CPU provider runs the fusions that are for it and for CUDA; those that
only it has (FusedConv) are the difference that the test states.
"""

import collections
import itertools
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

WIDTH = 8
HEADS, LENGTH = 2, 5


class Network:
    """Collects nodes whose names and weights number themselves."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0
        self.random = np.random.default_rng(0)

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        value = self.random.standard_normal(shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def number(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.float32(value), name))
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values), name))
        return name

    def __call__(self, kind, *inputs, **attributes):
        self.count += 1
        output = f"t{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def linear(self, x, n, k=WIDTH):
        return self("Add", self("MatMul", x, self.weight(k, n)), self.weight(n))

    def norm(self, x):
        scale, bias = self.weight(WIDTH), self.weight(WIDTH)
        return self("LayerNormalization", x, scale, bias, axis=-1)

    def gelu(self, x):
        erf = self("Erf", self("Div", x, self.number(2**0.5)))
        half = self("Mul", x, self("Add", erf, self.number(1)))
        return self("Mul", half, self.number(0.5))


def feed_forward(g, x):
    hidden = g.gelu(g.linear(x, 4 * WIDTH))
    return g.linear(hidden, WIDTH, 4 * WIDTH)


def after(g):  # Normalizes after the block, as BERT.
    return g.norm(g("Add", feed_forward(g, "x"), "x"))


def before(g):  # And before it, as ViT.
    return g("Add", "x", feed_forward(g, g.norm("x")))


def scores(g):
    key = g("Transpose", "x", perm=[0, 1, 3, 2])
    scaled = g("Mul", g("MatMul", "x", key), g.number(0.25))
    return g("MatMul", g("Softmax", scaled, axis=-1), "x")


def convolution(g):
    y = g("Conv", "x", g.weight(HEADS, HEADS, 1, 1))
    vectors = [g.weight(HEADS) for _ in range(4)]
    y = g("BatchNormalization", y, *vectors)
    y = g("Mul", y, g.weight(HEADS, 1, 1))
    y = g("Add", y, g.weight(1, HEADS, 1, 1))
    return g("Relu", g("Add", y, "x"))


def gates(g):
    y = g("HardSwish", "x")
    return g("Mul", y, g("Sigmoid", y))


def reshaped(g):  # To sizes that follow from a batch which only has a name.
    y = g("Reshape", "x", g.integers(-1, LENGTH, WIDTH))
    return g.norm(g("Add", g.linear(y, WIDTH), y))


def gelu_of_power(g):
    cube = g("Mul", g("Pow", "x", g.number(3)), g.number(0.044715))
    return by_tanh(g, g("Mul", g("Add", "x", cube), g.number(0.7978845608)))


def gelu_of_products(g):
    square = g("Mul", g("Mul", "x", g.number(0.044715)), "x")
    scaled = g("Mul", "x", g.number(0.7978845608))
    return by_tanh(g, g("Mul", scaled, g("Add", square, g.number(1))))


def by_tanh(g, argument):
    gate = g("Add", g("Tanh", argument), g.number(1))
    return g("Relu", g("Mul", g("Mul", "x", g.number(0.5)), gate))


NETWORKS = {
    after: ["N", LENGTH, WIDTH],
    before: ["N", LENGTH, WIDTH],
    scores: ["N", HEADS, LENGTH, WIDTH],
    convolution: ["N", HEADS, LENGTH, WIDTH],
    gates: ["N", HEADS, LENGTH, WIDTH],
    reshaped: ["N", LENGTH, WIDTH],
    gelu_of_power: ["N", LENGTH, WIDTH],
    gelu_of_products: ["N", LENGTH, WIDTH],
}
LEVELS = {
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
}


def remaining(make, shape, level, batch):
    network = Network()
    result = make(network)
    graph = helper.make_graph(
        network.nodes,
        make.__name__,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
        network.weights,
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    if batch is not None:
        options.add_free_dimension_override_by_name("N", batch)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        options.optimized_model_filepath = file.name
        ort.InferenceSession(model.SerializeToString(), options)
        nodes = onnx.load(file.name).graph.node
    return collections.Counter(node.op_type for node in nodes)


if __name__ == "__main__":
    for make, shape in NETWORKS.items():
        for (name, level), batch in itertools.product(LEVELS.items(), (None, 2)):
            counts = sorted(remaining(make, shape, level, batch).items())
            text = " ".join(f"{kind} {count}" for kind, count in counts)
            print(f"{make.__name__}, {name}, N = {batch or 'N'}: {text}")
