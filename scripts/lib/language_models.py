"""Language models with their head and their loss, as transformers computes them.

The zoo has the bodies; published memory has what comes after: logits of every token, a
shifted copy and the cross entropy. `export` writes a model without weights as a TorchScript
trace. Its results are the logits, or in training the loss and the logits, which the
caller's variable keeps alive. Needs torch.
"""

import dataclasses

import torch
from torch import nn
from torch.nn import functional

TOKENS_TRACED = 8


@dataclasses.dataclass(frozen=True)
class Model:
    """Sizes and habits of a model; the defaults are GPT-2's."""
    width: int = 768
    depth: int = 12
    heads: int = 12
    inner: int = 3072
    vocabulary: int = 50257
    positions: int = 1024
    activation: str = "gelu_new"
    is_causal: bool = True
    # Of embeddings and blocks, and of attention's weights.
    dropout: float = 0.1
    attention_dropout: float = 0.1
    splits_projections: bool = False  # One product each for query, key and value.
    is_eager: bool = False  # Products and softmax instead of fused attention.
    norms_first: bool = True
    embedding_width: int = 0  # Where it differs from `width`, as OPT-350m's.
    has_loss: bool = True  # In training; otherwise foretell takes the logits' mean.


def gelu_new(x):
    """transformers' NewGELUActivation: eight operators."""
    inner = torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0)))
    return 0.5 * x * (1.0 + inner)


ACTIVATIONS = {"gelu_new": gelu_new, "gelu": functional.gelu,
               "relu": functional.relu}


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.width
        if config.splits_projections:
            self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        else:
            self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        if config.is_eager and config.is_causal:
            side = config.positions
            mask = torch.ones(1, 1, side, side, dtype=torch.bool).tril()
            self.register_buffer("mask", mask)

    def heads_of(self, x):
        parts = ([part(x) for part in self.parts] if self.config.splits_projections
                 else self.joint(x).split(self.config.width, dim=2))
        return [part.view(x.size(0), x.size(1), self.config.heads, -1)
                .transpose(1, 2) for part in parts]

    def eager(self, query, key, value):
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = scores / (query.size(-1) ** 0.5)
        if self.config.is_causal:
            tokens = query.size(-2)
            least = torch.full([], torch.finfo(scores.dtype).min,
                               dtype=scores.dtype, device=scores.device)
            scores = torch.where(self.mask[:, :, :tokens, :tokens], scores, least)
        weights = functional.softmax(scores, dim=-1)
        weights = functional.dropout(weights, self.config.attention_dropout,
                                     self.training)
        return torch.matmul(weights, value)

    def forward(self, x):
        query, key, value = self.heads_of(x)
        if self.config.is_eager:
            y = self.eager(query, key, value)
        else:
            y = functional.scaled_dot_product_attention(
                query, key, value, is_causal=self.config.is_causal,
                dropout_p=self.config.attention_dropout if self.training else 0.0)
        y = y.transpose(1, 2).reshape(x.shape)
        return self.out(y)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.width
        self.attention = Attention(config)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.widen = nn.Linear(width, config.inner)
        self.narrow = nn.Linear(config.inner, width)
        self.dropout = nn.Dropout(config.dropout)

    def mlp(self, x):
        x = self.widen(x)
        x = ACTIVATIONS[self.config.activation](x)
        return self.narrow(x)

    def forward(self, x):
        for part, norm in ((self.attention, self.norms[0]),
                           (self.mlp, self.norms[1])):
            if self.config.norms_first:
                x = x + self.dropout(part(norm(x)))
            else:
                x = norm(x + self.dropout(part(x)))
        return x


class LanguageModel(nn.Module):
    """Tokens i64[batch, tokens] to the loss of guessing them, or to logits."""

    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.width
        narrow = config.embedding_width or width
        self.words = nn.Embedding(config.vocabulary, narrow)
        self.positions = nn.Embedding(config.positions, width)
        if narrow != width:
            self.enter = nn.Linear(narrow, width, bias=False)
            self.leave = nn.Linear(width, narrow, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.norm = nn.LayerNorm(width)
        if not config.is_causal:
            self.transform = nn.Linear(width, width)

    def states(self, tokens):
        x = self.words(tokens)
        if hasattr(self, "enter"):
            x = self.enter(x)
        places = torch.arange(tokens.size(1), device=tokens.device)
        x = self.dropout(x + self.positions(places))
        if not self.config.is_causal:
            x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        if self.config.is_causal:
            return self.norm(x)
        return self.norm(functional.gelu(self.transform(x)))

    def forward(self, tokens):
        x = self.states(tokens)
        if hasattr(self, "leave"):
            x = self.leave(x)
        logits = functional.linear(x, self.words.weight)
        if not (self.training and self.config.has_loss):
            return logits
        kept, labels = logits.detach(), tokens
        if self.config.is_causal:
            logits = logits[:, :-1, :].contiguous()
            labels = tokens[:, 1:].contiguous()
        loss = functional.cross_entropy(
            logits.view(-1, self.config.vocabulary), labels.view(-1))
        return loss, kept


def export(config, mode, path, dtype=torch.float32):
    """Writes the trace. Each parameter is one number that is seen as many: it takes
    no room, yet foretell meets tensors of the right shape on the CPU."""
    with torch.device("meta"):
        model = LanguageModel(config).train(mode == "training").to(dtype)
        tokens = torch.zeros(2, TOKENS_TRACED, dtype=torch.long)
        traced = torch.jit.trace(model, tokens, check_trace=False)
    save_without_weights(traced, path)


def save_without_weights(traced, path):
    traced._apply(lambda tensor: torch.zeros((), dtype=tensor.dtype)
                  .expand(tensor.shape)).save(str(path))
