"""Small networks that torch.export writes for the tests: one file each, packed,
without what foretell does not read. Those of the examples have a TorchScript
file of the same network beside them."""

import pathlib
import tempfile
import zipfile

import torch
from torch import nn
from torch.nn import functional

from networks import TinyVit

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/frontends/data/exported"
DROPPED = ("data/sample_inputs/", ".data/serialization_id", ".debug_pkl")
AUTO = torch.export.Dim.AUTO


class ConvNet(nn.Module):
    """Batch norm, dropout, a buffer and a constant that is a number."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, 4)
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        y = torch.relu_(self.norm(self.conv(x))).mean((2, 3))
        with torch.no_grad():
            scale = x.mean() * torch.tensor(2.0)
        return self.head(self.drop(y)) * scale + self.shift


class Sizes(nn.Module):
    """Sizes that are computed of symbols, and getitem."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens, image):
        batch, length = tokens.shape
        y = self.embed(tokens).view(batch * length // 2, 2, -1)
        first, second = y.unbind(1)
        mask = torch.ones(batch, length).tril()
        return self.head(first + second), mask, image.flatten(1)


class Branches(nn.Module):
    """cond, whose predicate is a size, and scan."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = torch.cond(x.shape[0] > 3, lambda t: self.linear(t),
                       lambda t: t.sin(), (x,))
        from torch._higher_order_ops.scan import scan
        carried, outputs = scan(
            lambda carry, row: (carry + row, (carry * row).clone()),
            y.new_zeros(4), y)
        return carried, outputs


class Rounds(nn.Module):
    """while_loop that counts to a size, as export writes a count: in a tensor."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda count, y: count < x.shape[0],
                          lambda count, y: (count + 1, torch.relu(self.linear(y))),
                          (torch.tensor(0), x))[1]


class Search(nn.Module):
    """while_loop that ends where values say so, here after one round."""

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda y: y.abs().sum() >= 0, lambda y: (y * torch.nan,),
                          (x,))[0]


class Mapped(nn.Module):
    """map with a result of another width, one of the same, and a value that every
    element meets."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x, shift):
        from torch._higher_order_ops.map import map as each
        return each(lambda row, t: (self.linear(row) + t, row.sin()), x, shift)


class Masked(nn.Module):
    """Averages the rows that a mask names, in the type of the weights."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        y = self.layer(x)
        mask = (x.sum(-1) > 0).to(y.dtype)
        return self.layer(mask @ y)


class Casting(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.first(x)
            with torch.autocast("cpu", enabled=False):
                y = self.second(y.float())
        return y


class Counter(nn.Module):
    """Writes into a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x - self.total


class Standardized(nn.Module):
    """A convolution that normalises its weight by a batch norm without statistics,
    in both modes, as timm's NFNets do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 3, 3, 3))

    def forward(self, x):
        weight = functional.batch_norm(self.weight.reshape(1, 4, -1), None, None,
                                       training=True, momentum=0.0)
        return functional.conv2d(x, weight.reshape_as(self.weight))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Residual(nn.Module):
    """A block of a ResNet: batch norm in training, and a sum in place."""

    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu_(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        y += x
        return torch.relu_(y)


class Modes(nn.Sequential):
    """Layers that differ in eval() and train()."""

    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Dropout2d(0.5), nn.InstanceNorm2d(8), nn.Flatten(),
                         nn.Linear(8 * 6 * 6, 4), nn.AlphaDropout(0.5))


class Indexing(nn.Module):
    """Parts of tensors as Python's indices name them, some of which are all."""

    def __init__(self):
        super().__init__()
        self.position = nn.Parameter(torch.zeros(1, 6, 8))
        self.table = nn.Parameter(torch.zeros(6, 8))
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        length = x.shape[1]
        y = self.linear(x + self.position[:, :length]) + self.table[:length]
        y = y.contiguous()
        parts = y[:, 0], y[0, :], y[..., 1:], y[:, ::2], y[:, :, None], y[:, -9:]
        return [part * 2 for part in parts]


# As TorchScript as well, for exported_agreement_test: the traced ones, and
# whether they train; the scripted ones.
TRACED = {"recurrent": True, "residual": True, "indexing": True,
          "modes_eval": False, "modes_train": True}
SCRIPTED = ("casting", "indexing")


class Cached(nn.Module):
    """A mask as long as the cache and the new tokens, and named results."""

    def __init__(self):
        super().__init__()
        self.key = nn.Linear(8, 8, bias=False)

    def forward(self, x, past, mask):
        key = torch.cat([past, self.key(x)], 1)
        scores = x @ key.transpose(1, 2) + mask
        return {"mean": scores.mean(), "past": [key], "tokens": x.shape[1], "new": 3}


class Patches(nn.Module):
    """A size that equals a formula of others by a guard alone."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)

    def forward(self, image, skip):
        return self.conv(image) + skip


class Contents(nn.Module):
    """A number that is given, and one of a tensor that a check bounds."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4, bias=False)

    def forward(self, x, counts, times: int):
        count = counts.max().item()
        torch._check(count >= 3)
        torch._check(count <= 64)
        return self.head(x.expand(count, 2, 8)).repeat(times, 1, 1)


class Positioned(nn.Module):
    """Notes its position in a tensor that is no buffer, as caches do."""

    def __init__(self):
        super().__init__()
        self.position = torch.tensor(0)

    def forward(self, x, position):
        self.position.copy_(position[0])
        return x + self.position


class Vmapped(nn.Module):
    """Three layers at once, and a result that they share."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(3, 8, 4))

    def forward(self, x):
        def layer(weight, x):
            return torch.tanh(x @ weight), x.cos()

        return torch.vmap(layer, in_dims=(0, None))(self.weights, x)


def image(batch, size):
    return torch.zeros(batch, 3, size, size)


def tokens():
    return torch.zeros(4, 6, dtype=torch.long)


# name: (network, inputs, dynamic shapes, whether it trains)
NETWORKS = {
    "conv_eval": (ConvNet, lambda: (image(4, 16),), None, False),
    "conv_train": (ConvNet, lambda: (image(4, 16),),
                   ({0: torch.export.Dim("n", min=2, max=64)},), True),
    "sizes": (Sizes, lambda: (tokens(), image(4, 8)),
              ({0: AUTO, 1: AUTO}, {0: AUTO}), False),
    "branches": (Branches, lambda: (torch.zeros(5, 4),), ({0: AUTO},), False),
    "rounds": (Rounds, lambda: (torch.zeros(5, 4),), ({0: AUTO},), False),
    "search": (Search, lambda: (torch.zeros(5, 4),), ({0: AUTO},), False),
    "indexing": (Indexing, lambda: (torch.zeros(4, 6, 8),), None, True),
    "mapped": (Mapped, lambda: (torch.zeros(5, 3, 4), torch.zeros(6)),
               ({0: AUTO}, None), False),
    "masked": (Masked, lambda: (torch.zeros(4, 5, 8),), None, False),
    "casting": (Casting, lambda: (torch.zeros(4, 8),), ({0: AUTO},), False),
    "counter": (Counter, lambda: (torch.zeros(4, 8),), ({0: AUTO},), False),
    "modes_eval": (Modes, lambda: (image(4, 8),), None, False),
    "modes_train": (Modes, lambda: (image(4, 8),), None, True),
    "recurrent": (Recurrent, lambda: (torch.zeros(4, 5, 8),), None, False),
    "residual": (Residual, lambda: (torch.zeros(4, 8, 14, 14),), None, True),
    "standardized": (Standardized, lambda: (image(4, 8),), None, False),
    "cached": (Cached, lambda: (torch.zeros(2, 3, 8), torch.zeros(2, 7, 8),
                                torch.zeros(2, 3, 10)),
               ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO},
                {0: AUTO, 1: AUTO, 2: AUTO}), False),
    "patches": (Patches, lambda: (torch.zeros(2, 3, 16, 24),
                                  torch.zeros(2, 8, 8, 12)),
                ({0: AUTO, 2: AUTO, 3: AUTO}, {0: AUTO, 2: AUTO, 3: AUTO}), False),
    "contents": (Contents, lambda: (torch.zeros(2, 8),
                                    torch.zeros(2, dtype=torch.int64), 5),
                 (None, None, AUTO), False),
    "positioned": (Positioned, lambda: (torch.zeros(5, 8),
                                        torch.zeros(1, dtype=torch.int64)),
                   ({0: AUTO}, None), False),
    "vmapped": (Vmapped, lambda: (torch.zeros(5, 8),), ({0: AUTO},), False),
    "vit_tiny": (TinyVit, lambda: (image(2, 32),), ({0: AUTO},), False),
}
# name: that of the file after run_decompositions().
DECOMPOSED = {"conv_eval": "conv_decomposed", "conv_train": "conv_train_decomposed"}


def pack(source, target):
    """Copies an archive, packed and without records that are not read."""
    with zipfile.ZipFile(source) as old, \
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in old.namelist():
            if any(part in name for part in DROPPED):
                continue
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))


def save(name, program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.pt2"
        torch.export.save(program, path)
        pack(path, FOLDER / f"{name}.pt2")


def save_module(name, module):
    """FOLDER/../NAME.pt."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.pt"
        module.save(path)
        pack(path, FOLDER.parent / f"{name}.pt")


def traced(name):
    network, inputs = NETWORKS[name][:2]
    return torch.jit.trace(network().train(TRACED[name]), inputs(),
                           check_trace=False)


def write_all():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (network, inputs, shapes, trains) in NETWORKS.items():
        if (FOLDER / f"{name}.pt2").exists():
            continue
        with torch.device("meta"):
            model, args = network().train(trains), inputs()
        program = torch.export.export(model, args, dynamic_shapes=shapes,
                                      strict=False)
        save(name, program)
        if name in DECOMPOSED:
            save(DECOMPOSED[name], program.run_decompositions())
    for name in TRACED:
        if not (FOLDER.parent / f"{name}.pt").exists():
            save_module(name, traced(name))
    for name in SCRIPTED:
        if not (FOLDER.parent / f"{name}_script.pt").exists():
            save_module(f"{name}_script", torch.jit.script(NETWORKS[name][0]()))
