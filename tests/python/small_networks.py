"""Small networks for the tests."""

import collections
import dataclasses
import functools
import types

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Convolutions(nn.Module):
    """Named inputs, one with a default, and a dict as the result."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(8, 10)

    def forward(self, image, mask=None):
        pooled = self.dropout(self.norm(self.conv(image)).relu().mean((2, 3)))
        return {"logits": self.head(pooled if mask is None else pooled * mask)}


class Stateful(nn.Module):
    """Makes its first state without saying where."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 16)

    def forward(self, x):
        return self.cell(x, torch.zeros(x.shape[0], 16))


class Flattening(nn.Module):
    """Sizes that follow from the batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 14 * 14, 5)

    def forward(self, image):
        features = self.conv(image)
        return self.head(features.view(features.size(0), -1))


class Language(nn.Module):
    """A tied embedding, a causal mask, tuples and lists of results."""

    def __init__(self, words=100, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.norm = nn.LayerNorm(width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        length = ids.shape[1]
        mask = torch.full((length, length), float("-inf"), device=ids.device)
        x = self.norm(self.embedding(ids))
        x = nn.functional.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.triu(mask, 1))
        with torch.no_grad():
            scale = x.abs().amax()
            with torch.enable_grad():
                scale = scale * 2
        x, (state, _) = self.rnn(x / scale)
        first, second = x.chunk(2, -1)
        x = torch.cat([second, first], -1)
        return self.head(x), [state, torch.topk(x, 3)[0]]


class Frozen(nn.Module):
    """A norm that never trains."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, image):
        return self.norm(self.conv(image)).relu()


class Autoencoder(nn.Module):
    """Weights of one shape: two that are tied, under names that no module reads, and
    one that is not needed."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(50, 8)
        self.encoder = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 50, bias=False)
        self.encoder.weight = self.head.weight = self.shared.weight
        self.auxiliary = nn.Linear(8, 50, bias=False)

    def forward(self, ids):
        return self.head(self.encoder(ids))


class Towers(nn.Module):
    """Two inputs with one batch, which nothing compares, in a region of autocast."""

    def __init__(self):
        super().__init__()
        self.image = nn.Linear(8, 16)
        self.text = nn.Linear(12, 16)

    def forward(self, image, text):
        with torch.autocast("cpu", torch.bfloat16):
            return self.image(image) @ self.text(text).T


Pair = collections.namedtuple("Pair", ["first", "second"])


class Named(nn.Module):
    """A named tuple of results."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return Pair(self.head(x), x * 2)


@dataclasses.dataclass
class Record:
    logits: torch.Tensor
    score: torch.Tensor
    note: str = ""


class Recorded(nn.Module):
    """A dataclass of results, which PyTorch does not know."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        logits = self.head(x)
        return Record(logits, logits.sum(-1))


class Blocks(nn.Module):
    """Blocks whose activations are computed again, or kept (None)."""

    def __init__(self, reentrant=None):
        super().__init__()
        self.reentrant = reentrant
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32))
            for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            if self.reentrant is None:
                x = block(x)
            else:
                x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


class TimeFirst(nn.Module):
    """Time is the leading dimension, which PyTorch unrolls."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(8, 16)

    def forward(self, x):
        return self.rnn(x)[0]


class TakesARecord(nn.Module):
    """One input that is a dict, whose sizes the code fixes."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 4)

    def forward(self, record):
        return self.head(record["x"].view(8, 16))


class DependsOnData(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class Cache:
    """Tensors in an object that PyTorch does not know, as a key-value cache is."""

    def __init__(self):
        self.layers = []

    def add(self, keys):
        self.layers.append(types.SimpleNamespace(keys=keys))
        return keys


class Decoder(nn.Module):
    """A configuration that switches a cache of results on, and a loss where labels
    are given; checkpoints its blocks as transformers does."""

    def __init__(self, width=32, blocks=3, checkpoints=False):
        super().__init__()
        self.config = types.SimpleNamespace(use_cache=True)
        self.embedding = nn.Embedding(100, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
            for _ in range(blocks))
        self.head = nn.Linear(width, 100)
        self.checkpoints = checkpoints

    def run(self, block, x):
        if not (self.checkpoints and self.training):
            return block(x)
        return checkpoint(functools.partial(type(block).forward, block), x,
                          use_reentrant=False)

    def forward(self, ids, cache=None, labels=None):
        x = self.embedding(ids)
        if cache is not None:
            x = x + cache.layers[0].keys
        kept = Cache() if self.config.use_cache else None
        for block in self.blocks:
            x = self.run(block, x)
            if kept is not None:
                kept.add(x * 2)
        logits = self.head(x)
        results = {"logits": logits, "cache": kept}
        if labels is None:
            return results
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss} | results


class OnlyLoss(Decoder):
    """The same with the loss as its only result."""

    def forward(self, ids, labels):
        return super().forward(ids, labels=labels)["loss"]


class Converting(nn.Module):
    """Converts types itself, as every norm of a language model does."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        normed = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True))
        return self.head(self.weight * normed.to(x.dtype))
