"""Networks of steps that processes share: what tests/golden/parallel is made of."""

import torch
from torch import nn


class Block(nn.Module):
    """A pre-norm block of a Transformer, without dropout."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4).unbind(0)
        scores = self.score(q, k).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))

    def score(self, q, k):
        return q @ k.transpose(-2, -1)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    #: How tensor parallelism shares the layers.
    COLUMNS, ROWS = ("qkv", "up"), ("out", "down")


class GatedBlock(nn.Module):
    """A block with a projection each for query, key and value and a gated unit, without
    biases."""

    COLUMNS, ROWS = ("q", "k", "v", "gate", "up"), ("out", "down")

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(width, width, bias=False))
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (layer(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(width, width, bias=False))

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (layer(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class ModularBlock(nn.Module):
    """A block of modules, each of which gathers the tokens for all its layers."""

    COLUMNS = ("attention.q", "attention.k", "attention.v", "unit.gate", "unit.up")
    ROWS = ("attention.out", "unit.down")
    GATHERING = ("attention", "unit")

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.unit = Attention(width, heads), Gate(width)

    @property
    def heads(self):
        return self.attention.heads

    @heads.setter
    def heads(self, count):
        self.attention.heads = count

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.unit(self.norm2(x))


class PlacedBlock(Block):
    """A block with a table of relative positions by heads, as Swin's."""

    TOKENS = 12

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.table = nn.Parameter(torch.zeros(2 * self.TOKENS - 1, heads))
        places = torch.arange(self.TOKENS)
        self.register_buffer(
            "places", (places[:, None] - places + self.TOKENS - 1).flatten())

    def score(self, q, k):
        bias = self.table[self.places].view(self.TOKENS, self.TOKENS, -1)
        return super().score(q, k) + bias.permute(2, 0, 1).unsqueeze(0)

    def keep_heads(self):
        self.table = nn.Parameter(self.table.detach()[:, :self.heads].clone())


class Blocks(nn.Module):
    """An embedding, three blocks, a norm and a head of a width that four processes
    cannot share evenly."""

    BLOCK = Block

    def __init__(self, width=16, heads=4, depth=3, words=50, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(self.BLOCK(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = self.run(block, x)
        return self.head(self.norm(x))

    @staticmethod
    def run(block, x):
        return block(x)

    def units(self):
        return list(self.blocks)

    def example(self):
        return torch.zeros(4, 12, dtype=torch.int64)


class Gated(Blocks):
    BLOCK = GatedBlock


class Modular(Blocks):
    BLOCK = ModularBlock


class Placed(Blocks):
    BLOCK = PlacedBlock


class Language(Blocks):
    """Blocks whose vocabulary four processes share evenly."""

    def __init__(self):
        super().__init__(words=48, classes=48)


class Tied(Language):
    """A language model whose head reads the table of the embedding."""

    def __init__(self):
        super().__init__()
        self.tie()

    def tie(self):
        self.head.weight = self.embedding.weight


class Mlp(nn.Module):
    """zoo:mlp?inputs=512&hidden=1024,1024,1024&batch_norm=true: more than a bucket,
    and buffers."""

    def __init__(self):
        super().__init__()
        layers, width = [], 512
        for _ in range(3):
            layers += [nn.Linear(width, 1024), nn.BatchNorm1d(1024), nn.ReLU()]
            width = 1024
        self.layers = nn.Sequential(*layers, nn.Linear(width, 10))

    def forward(self, x):
        return self.layers(x)

    def units(self):
        return [layer for layer in self.layers if list(layer.parameters())]

    def example(self):
        return torch.zeros(8, 512)
