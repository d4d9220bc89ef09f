"""Published times of single operators as rows with the graph that computes them."""

import dataclasses
import typing

import operator_text as text
import published

MORE = published.TABLES / "more"
DTYPES = {"fp32": "f32", "fp16": "f16", "bf16": "bf16"}
CATALOGUE = {"A100-PCIE-40GB": "a100-pcie-40gb", "A100-PCIE-80GB": "a100-pcie-80gb",
             "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-SXM-80GB": "a100-sxm4-80gb",
             "A100-80GB": "a100-sxm4-80gb", "H100-SXM-80GB": "h100-sxm5-80gb",
             "H100-SXM": "h100-sxm5-80gb", "V100-PCIE-32GB": "v100-pcie-32gb",
             "V100-SXM2-16GB (DGX-1)": "v100-sxm2-16gb", "P100 (PCIe)":
             "p100-pcie-16gb", "P100-PCIE-16GB": "p100-pcie-16gb", "T4": "t4",
             "P4": "p4", "L4": "l4", "A40-48GB": "a40",
             "H100-80GB": "h100-sxm5-80gb"}


@dataclasses.dataclass
class Row:
    """A measured operator."""
    table: str     # The source's name.
    number: int    # Of the row in its table.
    kind: str      # What it counts as where errors are printed.
    operator: str  # As the source names it.
    device: str    # As the catalogue names it.
    us: float      # Measured.
    graph: str
    tf32: bool = True        # Whether convolutions of f32 may take TF32.
    is_called: bool = False  # Whether a call's own time is in `us`.


@dataclasses.dataclass
class Table:
    files: tuple
    rows: typing.Callable[[], list]


def integers(row, *names):
    return [int(float(row[name] or 1)) for name in names]


SCALAR = {"add_scalar": "add", "mul_scalar": "mul", "div_scalar": "div",
          "pow_scalar": "pow"}
KIND_OF_NEUSIGHT = {"bmm": "batched product", "linear": "linear layer",
                    "conv2d": "convolution 3x3", "softmax": "softmax",
                    "layernorm": "layer norm"}


def neusight_graph(row):
    op = row["op"]
    if op == "linear":
        batch, m, n, k = integers(row, "batch", "m", "n", "k")
        return text.linear(batch * m, n, k)
    if op == "bmm":
        return text.bmm(*integers(row, "batch", "m", "n", "k"))
    if op == "conv2d":
        batch, c_in, c_out, window, extent, stride, padding = integers(
            row, "batch", "in_channels", "out_channels", "kernel_size",
            "input_size", "stride", "padding")
        return text.conv2d((batch, c_in, extent, extent),
                           (c_out, c_in, window, window), (stride, stride),
                           (padding, padding))
    sizes = integers(row, "rows", "cols")
    if op == "softmax":
        return text.softmax(sizes)
    if op == "layernorm":
        return text.layer_norm(*sizes)
    if op in SCALAR or op in ("relu", "gelu", "tanh"):
        return text.unary(SCALAR.get(op, op), sizes)
    return text.binary(op, sizes)


def neusight(path):
    for number, row in enumerate(published.rows(path)):
        yield Row("neusight", number, KIND_OF_NEUSIGHT.get(row["op"],
                                                           "element-wise"),
                  row["op"], CATALOGUE[row["device"]],
                  float(row["latency_ms"]) * 1e3, neusight_graph(row),
                  tf32=False, is_called=True)


def products(path):
    for number, row in enumerate(published.rows(path)):
        if row["framework"] == "sglang-0.5.9":  # Noisy at all sizes.
            continue
        yield Row("aiconfigurator", number, "product bf16", "gemm",
                  CATALOGUE[row["device"]], float(row["latency_ms"]) * 1e3,
                  text.linear(*integers(row, "m", "n", "k"), "bf16", bias=False))


def attention(path):
    for number, row in enumerate(published.rows(path)):
        if row["framework"] == "sglang-0.5.9":
            continue
        batch, heads, key_heads, width, prompt, step = integers(
            row, "batch", "num_heads", "num_kv_heads", "head_dim",
            "input_seq_len", "step")
        is_prefill = row["phase"] == "context"
        queries, keys = (prompt, prompt) if is_prefill else (
            1, prompt + int(float(row["step"] or 0)))
        shapes = (batch, heads, queries, width), (batch, key_heads, keys, width)
        phase = "prefill" if is_prefill else "decode"
        # Kernels of its own; 458 of its rows would need more than the bandwidth.
        if not is_prefill and row["framework"].startswith("trtllm"):
            phase += ", TensorRT-LLM"
        yield Row("aiconfigurator", number, f"attention bf16, {phase}",
                  row["phase"], CATALOGUE[row["device"]],
                  float(row["latency_ms"]) * 1e3,
                  text.attention(*shapes, is_causal=is_prefill))


def layer_graph(row):
    """A part of a decoder's layer; None where the kernel is not PyTorch's, but
    sarathi-serve's own (norms, rotary positions, activations)."""
    (tokens, hidden, shards) = integers(row, "num_tokens", "hidden_size",
                                        "tensor_parallel")
    op = row["op"]
    if row["n"]:
        n, k = integers(row, "n", "k")
        return text.linear(tokens, n, k, "f16", bias=False)
    if op == "add":
        return text.binary("add", (tokens, hidden), "f16")
    return None


def layers(path):
    for number, row in enumerate(published.rows(path)):
        graph = layer_graph(row)
        us = float(row["latency_ms"]) * 1e3
        if graph is None or us < 10:  # Printed in whole microseconds.
            continue
        kind = "product f16" if row["n"] else "element-wise f16"
        yield Row("vidur", number, kind, row["op"], CATALOGUE[row["device"]], us,
                  graph)


def llmcompass_graph(row):
    if row["op"] == "matmul":
        return text.matmul(*integers(row, "m", "n", "k"), "f16")
    sizes = integers(row, "rows", "cols")
    if row["op"] == "layernorm":
        return text.layer_norm(*sizes, "f16")
    if row["op"] == "softmax":
        return text.softmax(sizes, "f16")
    return text.unary(row["op"], sizes, dtype="f16")


KIND_OF_LLMCOMPASS = {"matmul": "product f16", "layernorm": "layer norm f16"}


def llmcompass(path):
    for number, row in enumerate(published.rows(path)):
        op = row["op"]
        yield Row("llmcompass", number, KIND_OF_LLMCOMPASS.get(op, f"{op} f16"), op,
                  CATALOGUE[row["device"]], float(row["latency_ms"]) * 1e3,
                  llmcompass_graph(row), is_called=True)


def deepbench_graph(row):
    dtype = "f32" if row["dtype"] == "fp32" else "f16"
    if row["op"] == "gemm":
        return text.matmul(*integers(row, "m", "n", "k"), dtype)
    batch, c_in, height, width, c_out, rows, columns, down, right = integers(
        row, "batch", "in_channels", "height", "width", "out_channels",
        "filter_h", "filter_w", "stride_h", "stride_w")
    padding = [int(row["pad_h"] or 0), int(row["pad_w"] or 0)]
    sizes = ((batch, c_in, height, width), (c_out, c_in, rows, columns),
             (down, right), padding)
    if row["pass"] == "forward":
        return text.conv2d(*sizes, dtype)
    return text.conv2d_gradient(*sizes, row["pass"].removeprefix("backward_"),
                                dtype)


def deepbench_kind(row):
    dtype = "f32" if row["dtype"] == "fp32" else "f16"
    if row["op"] == "gemm":
        return f"product {dtype}"
    strided = ", strided" if row["stride_h"] != "1" else ""
    gradient = row["pass"].replace("forward", "").replace("backward_",
                                                          ", gradient of the ")
    return (f"convolution {row['filter_h']}x{row['filter_w']}{strided} "
            f"{dtype}{gradient}")


def deepbench(path):
    for number, row in enumerate(published.rows(path)):
        if (row["op"] not in ("gemm", "conv2d") or
                row["dtype"].startswith("fp16 storage")):
            continue
        yield Row("deepbench", number, deepbench_kind(row),
                  f"{row['op']}, {row['pass']}",
                  CATALOGUE[row["device"]], float(row["latency_ms"]) * 1e3,
                  deepbench_graph(row), tf32=False, is_called=True)


UNARY = {"abs", "exp", "gelu", "isnan", "neg", "rsqrt"}
COMPARISONS = {"eq", "gt", "le", "lt", "ne"}
REDUCTIONS = {"max", "mean", "min"}


def flagperf_graph(op, parameters, dtype):
    cube = (1024, 1024, 1024)  # Melements=1024.
    if op in UNARY and "Melements" in parameters:
        return text.unary(op, cube, dtype=dtype)
    if op in COMPARISONS:
        return text.compare(op, cube, dtype)
    if op in REDUCTIONS:
        return text.reduction(op, cube, dtype)
    if op in ("add", "mul", "rsub"):
        return text.binary(op, cube, dtype)
    if op == "mm":
        return text.matmul(8192, 8192, 8192, dtype)
    if op == "addmm":
        return text.matmul(4096, 4096, 4096, dtype)
    if op == "bmm":
        return text.bmm(2, 4096, 4096, 4096, dtype)
    if op == "group_norm":  # torch.nn.GroupNorm(3, 6), as their main.py has it.
        return text.unary(op, (20, 6, 65536), "num_groups=3", dtype)
    return None


def flagperf(path):
    for number, row in enumerate(published.rows(path)):
        dtype = DTYPES.get(row["dtype"])
        if dtype is None or row["backward_included"] == "yes":
            continue
        graph = flagperf_graph(row["op"], row["shape_params"], dtype)
        if graph is None:
            continue
        kind = ("product" if row["op"] in ("mm", "addmm", "bmm") else
                "reduction" if row["op"] in REDUCTIONS else
                "norm" if row["op"] == "group_norm" else "element-wise")
        yield Row("flagperf", number, f"{kind} {dtype}", row["op"],
                  CATALOGUE[row["device"]], float(row["kernel_latency_us"]),
                  graph, tf32=False)


def table(read, *files):
    return Table(files, lambda: [row for file in files for row in read(file)])


TABLES = {
    "neusight": table(neusight, published.TABLES / "ops_fp32_a100.csv.gz"),
    "neusight-other": table(neusight,
                            published.TABLES / "ops_fp32_other_gpus.csv.gz"),
    "products": table(products, published.TABLES / "gemm_bf16_a100.csv.gz"),
    "attention": table(attention, published.TABLES / "attention_bf16_a100.csv.gz"),
    "layers": table(layers, published.TABLES / "llm_layer_ops_fp16_a100.csv.gz"),
    "layers-other": table(
        layers, published.TABLES / "llm_layer_ops_fp16_other_gpus.csv.gz"),
    "products-h100": table(products,
                           published.TABLES / "gemm_bf16_h100.csv.gz"),
    "llmcompass": table(llmcompass,
                        published.TABLES / "ops_fp16_llmcompass_a100.csv"),
    "deepbench": table(deepbench, MORE / "ops_deepbench_v100_p100_t4.csv.gz"),
    "flagperf": table(flagperf, MORE / "ops_power_flagperf_a100.csv"),
}
