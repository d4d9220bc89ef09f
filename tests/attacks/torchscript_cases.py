"""TorchScript files that try to do harm: what `script_archive.write` is given.

Each line of a table names what the file tries: CASES holds them all, SECOND_LINE those
that harm nothing without a sandbox, too. FLAGS holds the flags of those that need some.
"""

from script_archive import (call, instance, listed, name, number, of_type, pair,
                            quantized, tensor, text)

MEBI = 1 << 20
META = 'device=torch.device("meta")'
SMALL_RECORD = [("data/0", b"\0" * 64)]
HOLDER = "class B:\n  w : Tensor\n"
ONE_SLOT = "class A:\n  a : int\n"


def slots(count):
    return "class B:\n" + "".join(f"  f{i} : int\n" for i in range(count))


def on_host(code):
    """Computes a host tensor z and lets its sum matter."""
    return dict(body="y = torch.ones([4])\n" + code +
                "\nreturn torch.add(x, int(torch.item(torch.sum(z))))")


def held_in_list(elements, use, kind="Float"):
    """A tensor in an object in a list, longer than its record."""
    value = of_type(listed(instance("B", w=tensor(elements, kind))),
                    "List[__torch__.B]")
    return dict(body=use, attributes="  l : List[__torch__.B]\n",
                values=dict(l=value), classes=HOLDER, records=SMALL_RECORD)


def confused(field, fields):
    """An object of one slot where the code reads slot `field`."""
    return dict(body=f"return torch.mul(x, self.b.f{field})",
                attributes="  b : __torch__.B\n",
                values=dict(b=instance("A", a=number(7))),
                classes=ONE_SLOT + slots(fields))


def endless(body):
    return dict(body=body)


def interface_that_calls_itself():
    method = "  def f({},\n    x: Tensor) -> Tensor:\n    {}\n"
    return dict(
        body="b = self.b\nb.nxt = b\nreturn (b).f(x, )",
        attributes="  b : __torch__.B\n",
        values=dict(b=instance("B", nxt=instance("L", k=number(1)))),
        classes="class I(Interface):\n" +
        method.format("self: __torch__.I", "pass") + "class L:\n  k : int\n" +
        method.format("self: __torch__.L", "return x") +
        "class B:\n  nxt : __torch__.I\n" +
        method.format("self: __torch__.B", "return (self.nxt).f(x, )"))


def unused_functions():
    one = ("  def f{}(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" +
           "    x = torch.relu(x)\n" * 2000 + "    return x\n")
    return dict(classes="".join(one.format(i) for i in range(300)))


DEEP_TYPE = "List[" * MEBI + "int" + "]" * MEBI
MANY_DICTIONARIES = b"(" + b"}" * (15 * MEBI) + b"t"
SHORT_CONSTANT = dict(records=[("constants/0", b"\7" + b"\0" * 63)],
                      body="y = (CONSTANTS.c0)[0]\n"
                      "return torch.add(x, int(torch.item(torch.sum(y))))")

# Memory that is not the file's, division.
UNSAFE = {
    "read behind a record": held_in_list(
        128 * MEBI, "s = int(torch.item(torch.sum((self.l)[0].w)))\n"
        "return torch.mul(x, s)"),
    "write behind a record": held_in_list(
        64 * MEBI, "y = torch.fill_((self.l)[0].w, 1094795585)\n"
        "return torch.relu(x)"),
    "write pointers behind a record": held_in_list(
        8192, "y = torch.fill_((self.l)[0].w, 4702111234474983745)\n"
        "return torch.relu(x)", "Long"),
    "view of any length": on_host(
        "z = torch._reshape_alias(y, [100000000], [1])"),
    "write through such a view": on_host(
        "z = torch.fill_(torch._reshape_alias(y, [100000000], [1]), 7)"),
    "sparse rows beyond the end": on_host(
        "c = torch.zeros([5], dtype=4)\nc[1] = 100000000\n"
        "s = torch._sparse_csr_tensor_unsafe(c, torch.ones([4], dtype=4), y, "
        "[4, 4])\nz = torch.to_dense(s)"),
    "segments beyond the end": on_host(
        "l = torch.mul(torch.ones([4], dtype=4), 100000000)\n"
        'z = torch.segment_reduce(y, "sum", lengths=l, axis=0, unsafe=True)'),
    "stack through a meta operator": endless(
        "return torch._remove_batch_dim(x, 1000000007, 1000000007, 1000000007)"),
    "constant in a list, short record": dict(
        constants=pair(call(name("torch.jit._pickle", "build_tensorlist"),
                            listed(tensor(128 * MEBI)))), **SHORT_CONSTANT),
    "constant in a tuple, short record": dict(
        constants=pair(pair(tensor(128 * MEBI), number(1))), **SHORT_CONSTANT),
    "object of another class": confused(39999, 40000),
    "object of another class, near": confused(6, 7),
    "cast that checks nothing": dict(
        body="c = unchecked_cast(__torch__.B, self.a)\n"
        "return torch.mul(x, c.f39999)",
        attributes="  a : __torch__.A\n",
        values=dict(a=instance("A", a=number(7))),
        classes=ONE_SLOT + slots(40000)),
    "number that is a text": dict(
        body="return torch.mul(x, torch.add(self.k, 1))",
        attributes="  k : int\n", values=dict(k=text("hello"))),
    "scales behind a record": dict(
        attributes="  w : Tensor\n", values=dict(w=quantized(128 * MEBI)),
        records=[(f"data/{i}", b"\0" * 8) for i in range(3)]),
    "class of LibTorch": dict(
        attributes="  p : __torch__.torch.classes.quantized."
        "LinearPackedParamsBase\n",
        values=dict(p=name("__torch__.torch.classes.quantized",
                           "LinearPackedParamsBase") + b")\x81" +
                    pair(number(1), number(2)) + b"b")),
    "remainder by zero": endless(
        "n = torch.remainder(5, torch.sub(torch.size(x, 0), 4))\n"
        "return torch.mul(x, n)"),
    "smallest number by minus one": endless(
        "n = torch.floordiv(torch.mul(-4611686018427387904, "
        "torch.sub(torch.size(x, 0), 2)), torch.sub(3, torch.size(x, 0)))\n"
        "return torch.mul(x, n)"),
    "division towards zero by zero": endless(
        "n = torch.__round_to_zero_floordiv(5, torch.sub(torch.size(x, 0), 4))\n"
        "return torch.mul(x, n)"),
    "view of any length on the CPU": endless(
        "return torch.sum(torch._reshape_alias(x, [100000000], [1]))"),
}

# Time, memory and the stack, which are limits of the process.
ENDLESS = {
    "name of a million letters": endless(
        "y = torch." + "a" * MEBI + "(x)\nreturn y"),
    "type of a million levels": dict(
        attributes="  l : List[int]\n",
        values=dict(l=of_type(listed(number(1)), DEEP_TYPE))),
    "type of a million levels, constants": dict(
        constants=pair(of_type(listed(number(1)), DEEP_TYPE))),
    "expression of 100,000 levels": endless(
        "return torch.add(x, " + "(" * 100000 + "1" + ")" * 100000 + ")"),
    "elif of 20,000 levels": endless(
        "if bool(x):\n  y = x\n" + "elif bool(x):\n  y = x\n" * 20000 +
        "else:\n  y = x\nreturn y"),
    "lists of 300,000 levels": dict(data=b"]" * 300000 + b"a" * 299999),
    "classes of 20,000 levels": dict(
        body="y = annotate(Optional[__torch__.C19999], None)\nreturn x",
        classes="class C0:\n  x : Tensor\n" + "".join(
            f"class C{i}:\n  x : __torch__.C{i - 1}\n"
            for i in range(1, 20000))),
    "interface that calls itself": interface_that_calls_itself(),
    "loop without end": endless(
        "i = 0\nwhile True:\n  i = torch.add(i, 1)\nreturn torch.mul(x, i)"),
    "one long operator": endless(
        "y = torch.ones([6000, 6000])\n"
        "return torch.add(x, torch.nuclear_norm(y))"),
    "one long operator on meta": endless(
        f"z = torch.empty([100000000], {META})\n"
        "return torch.diff(z, 100000000)"),
    "combinations": endless("return torch.combinations(x, 700000000)"),
    "factorials": endless(
        "for i in range(1000000):\n"
        "  n = torch.factorial(torch.sub(2147483646, i))\n"
        "  if torch.eq(n, 12345):\n    x = torch.relu(x)\n"
        "  else:\n    pass\nreturn x"),
    "dictionaries in a pickle": dict(data=MANY_DICTIONARIES),
    "dictionaries in the constants": dict(constants=MANY_DICTIONARIES),
    "300,000 statements": endless(
        "y = x\n" + "y = torch.relu(y)\n" * 300000 + "return y"),
    "600,000 statements nobody calls": unused_functions(),
    "3 GB on the CPU": endless(
        "return torch.add(x, torch.sum(torch.ones([800000000])))"),
    "loop without end on the CPU": endless(
        "y = torch.ones([3000, 3000])\nfor i in range(100000):\n"
        "  y = torch.mm(y, y)\nreturn y"),
}

# Files, programs, the next file.
REACHING = {
    "a file of the user": endless(
        'y = torch.from_file("/etc/passwd", False, 10)\nreturn torch.relu(x)'),
    "a program": dict(data=b"cos\nsystem\n(X\x05\0\0\0falsetR"),
    "no gradients for the next file": endless(
        "torch.set_grad_enabled(False)\nreturn torch.relu(x)"),
    "escapes in a message": endless(
        'ops.prim.RaiseException("\\x1b]0;owned\\x07 \\x1b[31mred")\n'
        "return torch.relu(x)"),
}

CASES = {**UNSAFE, **ENDLESS, **REACHING}
SECOND_LINE = {**UNSAFE, **{
    case: REACHING[case] for case in ("a file of the user", "a program")}}

FLAGS = {case: ["--trace", "cpu"] for case in CASES if case.endswith("CPU")}
