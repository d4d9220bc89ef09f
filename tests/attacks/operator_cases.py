"""TorchScript files whose code tries to do harm, a line or two each.

CASES and FLAGS are as in torchscript_cases.
"""

from script_archive import instance, number
from torchscript_cases import META, endless, on_host

LONG = "torch.mul(torch.ones([4], dtype=4), {})"

BODIES = {
    "list of 1e9": "l = torch.mul([0], 1000000000)\n"
                   "return torch.mul(x, torch.len(l))",
    "2^40 on meta": f"return torch.relu(torch.empty([1099511627776], {META}))",
    "2^40 on the host": "return torch.add(x, "
                        "torch.sum(torch.ones([1099511627776])))",
    "2^40 on the CPU": "return torch.add(x, "
                       "torch.sum(torch.ones([1099511627776])))",
    "print": 'print("\\033[31mOWNED")\nops.prim.Print("OWNED")\n'
             "return torch.relu(x)",
    "warning": 'torch.warn("OWNED")\nreturn torch.relu(x)',
    "escapes in a message, octal":
        'ops.prim.RaiseException("\\033]0;owned\\007 \\033[31mred")\n'
        "return torch.relu(x)",
    "a file, with blanks": 'y = torch . from_file ("/etc/passwd", False, 10)\n'
                           "return torch.relu(x)",
    "a file, by its library":
        'y = ops . aten . from_file("/etc/passwd", False, 10)\n'
        "return torch.relu(x)",
    "save": 'torch.save (x, "/tmp/foretell_attack")\nreturn torch.relu(x)',
    "save, with blanks": 'torch . save(x, "/tmp/foretell_attack")\n'
                         "return torch.relu(x)",
    "one factorial": "return torch.mul(x, torch.factorial(2147483647))",
    "one factorial that is computed":
        "n = torch.factorial(torch.add(2147483646, "
        "int(torch.item(torch.sum(torch.ones([1]))))))\n"
        "return torch.mul(x, n)",
    "one long loss": "y = torch.ones([1048576])\n"
                     "t = torch.zeros([1048576], dtype=4)\n"
                     "return torch.add(x, torch.multilabel_margin_loss(y, t))",
    "one long loss without a meta kernel":
        "y = torch.expand(x, [2097152, 4]).reshape([8388608])\n"
        "return torch.multilabel_margin_loss(y, torch.to(y, 4))",
    "operators without meta kernels":
        "y = torch.reshape(torch.expand(x, [4000000, 4]), [16000000])\n"
        "i = 0\nwhile torch.lt(i, 100000):\n"
        "  x = torch.histc(y, 100, 0, 1)\n  i = torch.add(i, 1)\nreturn x",
    "140,000 operators": "y = x\nfor i in range(140000):\n"
                         "  y = torch.relu(y)\nreturn y",
    "140,000 operators in place": "y = x\nfor i in range(140000):\n"
                                  "  y = torch.add_(y, 1)\nreturn y",
    "host operators in a loop":
        "y = torch.ones([1000])\ni = 0\nwhile torch.lt(i, 140000):\n"
        "  r = torch.reshape(y, [1000, 1])\n"
        "  y = torch.add(y, torch.sum(torch.cdist(r, r)))\n"
        "  i = torch.add(i, 1)\nreturn torch.add(x, torch.sum(y))",
    "remainder of the least by -1":
        "n = torch.remainder(torch.mul(-4611686018427387904, "
        "torch.sub(torch.size(x, 0), 2)), torch.sub(3, torch.size(x, 0)))\n"
        "return torch.mul(x, n)",
    "empty weight norm on meta":
        f"return torch._weight_norm(torch.empty([0], {META}), "
        f"torch.empty([0], {META}), 0)",
    "heap in a shape":
        "y = torch.ones([4], dtype=4)\n"
        "n = int(torch.item(torch.max(torch._reshape_alias(y, [4096], [1]))))\n"
        "a = torch.add(torch.remainder(n, 16777216), 1)\n"
        "r = torch.reshape(torch.relu(torch.select(x, 0, 0)), [1, 1])\n"
        "return torch.expand(r, [a, 2])",
    "row of none on the CPU":
        "i = torch.mul(torch.ones([4], dtype=4), 1000000000)\n"
        "return torch.embedding(torch.reshape(x, [4, 1]), i)",
    "name of 15 million letters": "y = torch." + "a" * 15000000 +
                                  "(x)\nreturn y",
}

# A host tensor z of y, four ones, and of i, a number of LONG.
ON_HOST = {
    "sparse elements beyond the end":
        ("1000000000000", "z = torch.to_dense(torch._sparse_coo_tensor_unsafe("
         "torch.reshape(i, [1, 4]), y, [4]))"),
    "stride beyond 64 bits":
        ("1", "z = torch.as_strided(y, [4], [1], 4611686018427380000)"),
    "stride below 0": ("1", "z = torch.as_strided(y, [4], [-1000000], 0)"),
    "another storage":
        ("1", "z = torch.set_(torch.empty([1]), torch.storage(y), 0, "
         "[1000000], [1])"),
    "memory that nobody wrote": ("1", "z = torch.isnan(torch.resize_("
                                 "torch.empty([4]), [1000]))"),
    "nested sizes beyond the end":
        ("100000000", "s = torch.reshape(torch.select(i, 0, 0), [1, 1])\n"
         "n = torch._nested_view_from_buffer(y, s, torch.ones([1, 1], "
         "dtype=4), torch.zeros([1], dtype=4))\n"
         "z = torch.to_padded_tensor(n, 0.)"),
    "select beyond the end": ("1", "z = torch.select(y, 0, 100)"),
    "gather beyond the end": ("1000000000000", "z = torch.gather(y, 0, i)"),
    "bags beyond the end":
        ("1000000000", "a, b, c, d, = torch._embedding_bag(torch.ones([4, 4]),"
         " i, torch.zeros([1], dtype=4))\nz = a"),
    "put beyond the end":
        ("1000000000000", "z = torch._index_put_impl_(y, [i], torch.ones([4]),"
         " False, True)"),
    "packed rows beyond the end":
        ("100000000", "p, q, = torch._pad_packed_sequence(torch.ones([4, 4]), "
         "i, True, 0, 1)\nz = p"),
    "unpooling beyond the end":
        ("1000000000", "z = torch.max_unpool2d(torch.reshape(y, [1, 2, 2]), "
         "torch.reshape(i, [1, 2, 2]), [4, 4])"),
    "channels that are quantized":
        ("0", "z = torch.dequantize(torch.quantize_per_channel("
         "torch.ones([4, 4]), y, i, 0, 12))"),
    "averages beyond the end":
        ("1", "e = torch.ones([0])\nf = torch.zeros([1], dtype=4)\n"
         "a, b, = torch._fused_moving_avg_obs_fq_helper(y, i, i, e, e, e, f, "
         "0.1, 0, 255, 0)\nz = a"),
    "packed products":
        ("1", "a = torch.to(torch.ones([4, 64]), 15)\n"
         "z = torch._weight_int4pack_mm_for_cpu(a, torch.zeros([64, 4], "
         "dtype=0), 32, torch.to(torch.ones([1, 64, 2]), 15))"),
}

# Kinds of nodes that LibTorch makes for itself and no code should name.
PRIM = """
    profile profile_ivalue StaticRuntimeCopyOuts TensorExprGroup
    TensorExprDynamicGroup CudaFusionGroup FusionGroup DifferentiableGraph
    RequiresGradCheck TypeCheck BailOut BailoutTemplate MKLDNNGroup
    ConstantMKLDNNTensor BroadcastMKLDNNTensors MKLDNNLayerNorm
    oneDNNFusionGroup TupleConstruct ListUnpack VarConcat VarStack AutogradZero
    AutogradAdd ReturnAnyOf isinstance CreateObject DictConstruct GetAttr
    TupleIndex ChunkSizes ConstantChunk NumToTensor IfThenElse
    ModuleContainerIndex StringIndex AddStatValue PythonOp fork""".split()


def method(header, *lines):
    return f"  def {header}:\n" + "".join(f"    {line}\n" for line in lines)


def interface(returned):
    """A method of an interface that hands itself on."""
    return dict(
        body="return (self.b).f(x, self.b, )",
        attributes="  b : __torch__.B\n",
        values=dict(b=instance("B", k=number(1))),
        classes="class I(Interface):\n" +
        method("f(self: __torch__.I, x: Tensor, i: __torch__.I) -> Tensor",
               "pass") + "class B:\n  k : int\n" +
        method("f(self: __torch__.B, x: Tensor, i: __torch__.I) -> Tensor",
               f"return {returned}"))


CASES = {
    **{name: endless(body) for name, body in BODIES.items()},
    **{name: on_host(f"i = {LONG.format(size)}\n{code}")
       for name, (size, code) in ON_HOST.items()},
    **{f"prim {name}": endless(f"y = ops.prim.{name}(x)\nreturn torch.relu(x)")
       for name in PRIM},
    "method that calls itself": dict(
        body="return (self).g(x, )",
        classes=method("g(self: __torch__.M,\n    x: Tensor) -> Tensor",
                       "return (self).g(x, )")),
    "interface that hands itself on": interface("(i).f(x, i, )"),
    "interface that hands itself on, after work": interface(
        "torch.relu((i).f(x, i, ))"),
    "state that is set for ever": dict(
        classes=method("__getstate__(self: __torch__.M) -> int", "return 1") +
        method("__setstate__(self: __torch__.M,\n    s: int) -> NoneType",
               "while True:", "  pass", "return None")),
    "default that is computed": dict(
        classes=method("g(self: __torch__.M,\n    n: int=torch.len(torch.mul("
                       "[0], 10000000000))) -> int", "return n")),
}

FLAGS = {case: ["--trace", "cpu"] for case in CASES if case.endswith("CPU")}
