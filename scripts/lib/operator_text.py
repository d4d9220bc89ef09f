"""Graphs of single operators in text form (docs/graph_text.md).

Each function gives the text of a graph that runs one operator; `dtype` is f32, f16 or
bf16. `foretell time-operators` reads many of them from one file.
"""


def shape(*sizes):
    return f"[{','.join(str(int(size)) for size in sizes)}]"


def graph(operator, operands, result, attributes="", dtype="f32"):
    """A graph of one operator on inputs and, after "weight", parameters."""
    words = [f"{role} {dtype}{sizes}" for role, sizes in operands]
    return (f"graph\n%y = {operator}({', '.join(words)}) {{{attributes}}} : "
            f"{dtype}{result}\noutput %y\n")


def linear(rows, columns, depth, dtype="f32", bias=True):
    operands = [("input", shape(rows, depth)), ("weight", shape(columns, depth))]
    if bias:
        operands.append(("weight", shape(columns)))
    return graph("linear", operands, shape(rows, columns), dtype=dtype)


def bmm(batch, m, n, k, dtype="f32"):
    return graph("bmm", [("input", shape(batch, m, k)),
                         ("input", shape(batch, k, n))],
                 shape(batch, m, n), dtype=dtype)


def matmul(m, n, k, dtype="f32"):
    return graph("mm", [("input", shape(m, k)), ("input", shape(k, n))],
                 shape(m, n), dtype=dtype)


def matvec(m, k, dtype="f32"):
    return graph("mv", [("input", shape(m, k)), ("input", shape(k))], shape(m),
                 dtype=dtype)


def conv2d(image, weight, stride, padding, dtype="f32"):
    """`image` [N, C, H, W], `weight` [out, in, height, width], no bias."""
    sizes = [(extent + 2 * pad - window) // step + 1 for extent, window, step, pad
             in zip(image[2:], weight[2:], stride, padding)]
    return graph("conv2d", [("input", shape(*image)), ("weight", shape(*weight))],
                 shape(image[0], weight[0], *sizes),
                 f"stride={shape(*stride)}, padding={shape(*padding)}", dtype)


def conv2d_gradient(image, weight, stride, padding, of, dtype="f32"):
    """Gradient of a conv2d's "input" or "weight"."""
    sizes = [(extent + 2 * pad - window) // step + 1 for extent, window, step, pad
             in zip(image[2:], weight[2:], stride, padding)]
    wanted, mask = {"input": (image, "1,0,0"), "weight": (weight, "0,1,0")}[of]
    return (f"graph mode=training\nphase backward\n%y = convolution_backward("
            f"input {dtype}{shape(image[0], weight[0], *sizes)}, "
            f"input {dtype}{shape(*image)}, weight {dtype}{shape(*weight)}) "
            f"{{stride={shape(*stride)}, padding={shape(*padding)}, "
            f"output_mask=[{mask}]}} : {dtype}{shape(*wanted)}\noutput %y\n")


def unary(operator, sizes, attributes="", dtype="f32"):
    return graph(operator, [("input", shape(*sizes))], shape(*sizes), attributes,
                 dtype)


def binary(operator, sizes, dtype="f32"):
    return graph(operator, [("input", shape(*sizes))] * 2, shape(*sizes),
                 dtype=dtype)


def compare(operator, sizes, dtype="f32"):
    """An operator on two tensors whose result is Boolean."""
    operands = f"input {dtype}{shape(*sizes)}"
    return (f"graph\n%y = {operator}({operands}, {operands}) : "
            f"bool{shape(*sizes)}\noutput %y\n")


def reduction(operator, sizes, dtype="f32"):
    """To a single number."""
    return graph(operator, [("input", shape(*sizes))], "[]", dtype=dtype)


def softmax(sizes, dtype="f32"):
    return unary("softmax", sizes, "dim=-1", dtype)


def layer_norm(rows, columns, dtype="f32"):
    return graph("layer_norm", [("input", shape(rows, columns)),
                                ("weight", shape(columns)),
                                ("weight", shape(columns))],
                 shape(rows, columns), f"normalized_shape={shape(columns)}", dtype)


def attention(queries, keys, is_causal, dtype="bf16"):
    """`queries` and `keys` [batch, heads, tokens, width]."""
    attributes = (f"is_causal={str(is_causal).lower()}, "
                  f"enable_gqa={str(queries[1] != keys[1]).lower()}")
    return graph("scaled_dot_product_attention",
                 [("input", shape(*queries)), ("input", shape(*keys)),
                  ("input", shape(*keys))], shape(*queries), attributes, dtype)
