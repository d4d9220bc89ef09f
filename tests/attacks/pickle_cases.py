"""TorchScript files whose pickles, constants or archives try to do harm.

CASES is as in torchscript_cases; ARCHIVES holds lists of records instead, of
which the names may be odd.
"""

import struct

from script_archive import (call, classes_of, instance, listed, name, number,
                            of_type, pair, plain_records, tensor_of, text)
from torchscript_cases import (HOLDER, MANY_DICTIONARIES, MEBI, ONE_SLOT,
                               SMALL_RECORD, confused, held_in_list, slots)

HUGE = 1 << 40


def constant(value, code):
    return dict(constants=pair(value), body=code,
                records=[("constants/0", b"\7" + bytes(63))])


def scalar_at(offset):
    return tensor_of("Long", 8, offset, (), ())


def weight(value, **rest):
    return dict(attributes="  w : Tensor\n", values=dict(w=value),
                records=SMALL_RECORD, **rest)


def of_libtorch(library, of):
    """An object of a class that LibTorch registers."""
    return dict(attributes=f"  p : __torch__.torch.classes.{library}.{of}\n",
                values=dict(p=classes_of(library, of) + b")\x81" +
                            pair(number(1), number(2)) + b"b"),
                records=SMALL_RECORD)


AS_NUMBER = "n = int(torch.item(CONSTANTS.c0))\nreturn torch.mul(x, n)"

# The whole of data.pkl.
PICKLES = {
    "memo of 2^31": b"]r\xff\xff\xff\x7f",
    "text of 2^31": b"X\xff\xff\xff\x7fabc",
    "tuples of a million levels": b"(" * 1000000 + b"t" * 1000000,
    "items without a key": b"}(X\x01\0\0\0au",
    "list of itself": b"]q\0h\0a",
    "function of 2^40": number(HUGE) + b")R",
    "marks that nobody closes": b"(((K\x01000t",
}

CASES = {
    **{name: dict(data=data) for name, data in PICKLES.items()},
    "dictionaries in an attribute": dict(
        attributes="  z : Tensor\n", values=dict(z=MANY_DICTIONARIES)),
    "sizes beyond a constant": constant(
        tensor_of("Float", 16, 0, (1 << 27,), (1,)),
        "return torch.add(x, torch.sum(CONSTANTS.c0))"),
    "constant beyond its record": constant(scalar_at(1 << 32), AS_NUMBER),
    "constant before its record": constant(scalar_at(-(1 << 32)), AS_NUMBER),
    "constant near its record": constant(scalar_at(40), AS_NUMBER),
    "write to a constant": constant(
        scalar_at(1 << 32), "y = torch.fill_(CONSTANTS.c0, 1094795585)\n"
        "return torch.mul(x, int(torch.item(y)))"),
    "strides beyond a constant on the CPU": constant(
        tensor_of("Float", 16, 0, (4,), (1 << 28,)),
        "return torch.add(x, CONSTANTS.c0)"),
    "fewer than no elements": weight(tensor_of("Float", -5, 0, (4,), (1,))),
    "sizes beyond 64 bits": weight(
        tensor_of("Float", 4, 0, (HUGE, HUGE), (1, 1))),
    "sizes below 0": weight(tensor_of("Float", 4, 0, (-4, -4), (1, 1))),
    "sizes without strides": weight(tensor_of("Float", 4, 0, (2, 2), (1,))),
    "2^58 elements on the CPU": weight(
        tensor_of("Float", 4, 0, (1 << 58,), (1,))),
    "content of a parameter": weight(
        tensor_of("Float", 1 << 27, 0, (1 << 27,), (1,)),
        body="return torch.mul(x, int(torch.item(torch.sum(self.w))))"),
    "small write behind a record": held_in_list(
        1 << 14, "y = torch.fill_((self.l)[0].w, 1094795585)\n"
        "return torch.relu(x)"),
    "honest tensor in a list": {
        **held_in_list(MEBI >> 4,
                       "return torch.add(x, torch.sum((self.l)[0].w))"),
        "records": [("data/0", bytes(MEBI >> 2))]},
    "object of another class, next": confused(1, 2),
    "object of another class, far": confused(40, 41),
    "object of another class, unused": {
        **confused(3, 8),
        "body": "v = self.b.f3\nw = torch.mul(x, v)\nreturn torch.relu(x)"},
    "slots of another class": dict(
        body="b = self.b\nreturn torch.mul(x, b.f1), b.f2, b.f3, b.f9, b.f17",
        attributes="  b : __torch__.B\n",
        values=dict(b=instance("A", a=number(7))),
        classes=ONE_SLOT + slots(40),
        returns="Tuple[Tensor, int, int, int, int]"),
    "tuple of two for six": dict(
        body="a, b, c, d, e, f, = self.t\n"
        "return torch.mul(x, torch.add(torch.add(a, b), f))",
        attributes="  t : Tuple[int, int, int, int, int, int]\n",
        values=dict(t=pair(number(1), number(2)))),
    "tuple of two for fifty": dict(
        body="a, b, = self.t[40:42]\nreturn torch.mul(x, torch.add(a, b))",
        attributes="  t : Tuple[" + ", ".join(["int"] * 50) + "]\n",
        values=dict(t=pair(number(1), number(2)))),
    "list cast to another": dict(
        body="l = unchecked_cast(List[Tensor], self.l)\nreturn torch.cat(l)",
        attributes="  l : List[int]\n",
        values=dict(l=call(name("torch.jit._pickle", "build_intlist"),
                           listed(*map(number, range(3)))))),
    **{f"class of LibTorch, {of}": of_libtorch(library, of)
       for library, of in [("quantized", "EmbeddingPackedParamsBase"),
                           ("quantized", "Conv2dPackedParamsBase"),
                           ("rnn", "CellParamsBase"),
                           ("mkldnn", "ConvOpContext"),
                           ("sparse", "LinearPackedParamsBase")]},
}

FLAGS = {case: ["--trace", "cpu"] for case in CASES if case.endswith("CPU")}

# ---- Archives ---------------------------------------------------------------

ENTRY = b"PK\1\2"  # Of a zip file's directory.


def overlapping(archive):
    """The second entry begins where the first does."""
    first = archive.find(ENTRY)
    second = archive.find(ENTRY, first + 4)
    archive[second + 42:second + 46] = archive[first + 42:first + 46]


def oversized(archive):
    at = archive.find(ENTRY) + 20
    archive[at:at + 8] = struct.pack("<II", 0x7fffffff, 0x7fffffff)


def with_records(*more):
    return lambda: plain_records() + list(more)


def of_version(version):
    return lambda: plain_records(version)


def many(folder):
    return lambda: plain_records() + [(f"m/{folder}/{k:06d}", b"")
                                      for k in range(150000)]


# Records, and what is done to the bytes of the archive.
ARCHIVES = {
    "zip bomb of code": (with_records(("m/code/big.py", bytes(1 << 28))), None),
    "zip bomb that nobody reads": (
        with_records(("m/code/big.py.debug_pkl", bytes(1 << 28))), None),
    "names above the folder": (
        with_records(("m/../../../../owned", b"x"), ("/owned", b"x")), None),
    "a name twice": (with_records(("m/code/__torch__.py", b"x = 1\n")), None),
    "no constants": (lambda: [record for record in plain_records()
                              if "constants" not in record[0]], None),
    "code of the old format": (with_records(
        ("m/model.json", b'{"protoVersion":"3","mainModule":{}}'),
        ("m/attributes.pkl", b"\x80\x02)."), ("m/libs/x.py", b"1\n")), None),
    "150,000 records of code": (many("c"), None),
    "150,000 records of weights": (many("data"), None),
    "entries that overlap": (plain_records, overlapping),
    "entries of 2 GB": (plain_records, oversized),
    "version of 1e9": (of_version(b"1000000000\n"), None),
    "version of 0": (of_version(b"0\n"), None),
    "version of letters": (of_version(b"\xff\xfeabc"), None),
}
