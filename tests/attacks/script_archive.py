"""Writers of TorchScript archives: pickles and code of one's own choice."""

import struct
import warnings
import zipfile

TRUE, FALSE, NONE = b"\x88", b"\x89", b"N"
CODE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
{attributes}  def forward(self: __torch__.M,
    x: Tensor) -> {returns}:
{body}{classes}"""


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


def name(module, attribute):
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


def pair(*items):
    return b"(" + b"".join(items) + b"t"


def listed(*items):
    return b"](" + b"".join(items) + b"e"


def call(function, *arguments):
    return function + pair(*arguments) + b"R"


def instance(of, **attributes):
    """An object of a class in the archive's code."""
    state = b"".join(text(key) + value for key, value in attributes.items())
    return name("__torch__", of) + b")\x81}(" + state + b"ub"


def storage(kind, record, elements):
    return pair(text("storage"), name("torch", kind + "Storage"),
                text(record), text("cpu"), number(elements)) + b"Q"


def empty_hooks():
    return call(name("collections", "OrderedDict"))


def tensor_of(kind, elements, offset, sizes, strides, record="0"):
    """A tensor in a storage that says it has `elements`."""
    return call(name("torch._utils", "_rebuild_tensor_v2"),
                storage(kind, record, elements), number(offset),
                pair(*map(number, sizes)), pair(*map(number, strides)), FALSE,
                empty_hooks())


def tensor(elements, kind="Float", record="0"):
    """A vector that says it has `elements`, whatever its record holds."""
    return tensor_of(kind, elements, 0, (elements,), (1,), record)


def classes_of(library, of):
    return name("__torch__.torch.classes." + library, of)


def quantized(elements):
    """A vector with a scale per element."""
    return call(name("torch._utils", "_rebuild_qtensor"),
                storage("QInt8", "0", elements), number(0),
                pair(number(elements), number(1)),
                pair(number(1), number(1)),
                pair(number(1), tensor(elements, "Float", "1"),
                     tensor(elements, "Int", "2"), number(0)),
                FALSE, empty_hooks())


def of_type(value, type_text):
    return call(name("torch.jit._pickle", "restore_type_tag"), value,
                text(type_text))


def indented(lines):
    return "".join(f"    {line}\n" for line in lines.split("\n"))


def records_of(body="return torch.relu(x)", *, attributes="", values=None,
               classes="", constants=b")", records=(), returns="Tensor",
               data=None):
    """A module M whose forward is `body`; `data` replaces its whole pickle."""
    code = CODE.format(attributes=attributes, returns=returns,
                       body=indented(body), classes=classes)
    if data is None:
        data = instance("M", training=FALSE, **(values or {}))
    return [("m/" + record, content) for record, content in [
        ("data.pkl", b"\x80\x02" + data + b"."),
        ("code/__torch__.py", code.encode()),
        ("constants.pkl", b"\x80\x02" + constants + b"."),
        ("version", b"3\n"), *records]]


def plain_records(version=b"3\n"):
    """An honest module, of whatever version."""
    return records_of()[:-1] + [("m/version", version)]


def write_records(path, records):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A name may be there twice.
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for record, content in records:
                archive.writestr(record, content)


def write(path, *body, **module):
    write_records(path, records_of(*body, **module))
