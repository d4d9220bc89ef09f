"""Language models with their head and their loss, as transformers computes them.

The zoo has the bodies; published memory has what comes after: logits of every token, a
shifted copy and the cross entropy. `export` writes a model without weights as a TorchScript
trace. Its results are the logits, or in training the loss and the logits, which the
caller's variable keeps alive, and of a causal model the keys and values of all layers,
which transformers returns unless told otherwise (`keeps_cache`). With `new_tokens`
inference is `generate`: a pass over the prompt, then one token after the other, each
with the caches before and after it alive. Needs torch.
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
    softmax_in_32_bits: bool = False  # As OPT's eager attention in 16.
    has_mask_buffers: bool = False  # A causal mask of all positions per layer.
    keeps_cache: bool = False
    new_tokens: int = 0  # That `generate` appends; 0: one pass.
    keeps_prompt_logits: bool = True  # Until the pass after is done.


def gelu_new(x):
    """transformers' NewGELUActivation: eight operators."""
    inner = torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0)))
    return 0.5 * x * (1.0 + inner)


ACTIVATIONS = {"gelu_new": gelu_new, "gelu": functional.gelu,
               "relu": functional.relu}


def after(x, kept, training=False):
    """x, once it is there; in inference `kept` live until then, as what Python's
    variables name does and what a trace looks at a last time does not."""
    for tensor in [] if training else kept:
        while tensor.dim():
            tensor = tensor.select(0, 0)
        x = x.add_(0 * tensor)
    return x


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.width
        if config.splits_projections:
            self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        else:
            self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        if config.has_mask_buffers:
            side = config.positions
            mask = torch.ones(1, 1, side, side, dtype=torch.bool).tril()
            self.register_buffer("mask", mask)

    def heads_of(self, x):
        parts = ([part(x) for part in self.parts] if self.config.splits_projections
                 else self.joint(x).split(self.config.width, dim=2))
        return [part.view(x.size(0), x.size(1), self.config.heads, -1)
                .transpose(1, 2) for part in parts]

    def masked(self, scores):
        """GPT's: a choice by a buffer; OPT's: a sum, then no less than the least."""
        least = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype,
                           device=scores.device)
        rows, columns = scores.size(-2), scores.size(-1)
        if self.config.has_mask_buffers:
            return torch.where(self.mask[:, :, columns - rows:columns, :columns],
                               scores, least)
        return torch.maximum(scores + scores.new_zeros(scores.size(0), 1, rows,
                                                       columns), least)

    def eager(self, query, key, value):
        if self.config.softmax_in_32_bits:  # OPT scales the queries.
            scores = torch.matmul(query * 0.125, key.transpose(-1, -2))
        else:
            scores = torch.matmul(query, key.transpose(-1, -2))
            scores = scores / (query.size(-1) ** 0.5)
        if self.config.is_causal:
            scores = self.masked(scores)
        if self.config.softmax_in_32_bits and scores.dtype == torch.float16:
            weights = functional.softmax(scores, dim=-1, dtype=torch.float32)
            weights = after(weights.to(torch.float16), [scores], self.training)
        else:
            weights = functional.softmax(scores, dim=-1)
        weights = functional.dropout(weights, self.config.attention_dropout,
                                     self.training)
        return torch.matmul(weights, value)

    def forward(self, x, past=None):
        """The result, and keys and values of the tokens up to here."""
        query, key, value = self.heads_of(x)
        if self.config.keeps_cache and self.config.splits_projections:
            key, value = key.contiguous(), value.contiguous()  # As OPT's `_shape`.
        if past is not None:
            key, value = (torch.cat(pair, dim=2)
                          for pair in zip(past, (key, value)))
        if self.config.is_eager:
            y = self.eager(query, key, value)
        else:
            y = functional.scaled_dot_product_attention(
                query, key, value, is_causal=self.config.is_causal and past is None,
                dropout_p=self.config.attention_dropout if self.training else 0.0)
        y = y.transpose(1, 2).reshape(x.shape)
        return self.out(y), (key, value)


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

    def forward(self, x, past=None):
        """The states, and keys and values as attention gives them."""
        first, second = self.norms
        if self.config.norms_first:
            y, cache = self.attention(first(x), past)
            x = x + self.dropout(y)
            return x + self.dropout(self.mlp(second(x))), cache
        y, cache = self.attention(x, past)
        x = first(x + self.dropout(y))
        return second(x + self.dropout(self.mlp(x))), cache


def flat(pairs):
    return [one for pair in pairs for one in pair]


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

    def states(self, tokens, past=None):
        """The last states, and all layers' keys and values."""
        x = self.words(tokens)
        if hasattr(self, "enter"):
            x = self.enter(x)
        places = torch.arange(tokens.size(1), device=tokens.device)
        x = self.dropout(x + self.positions(places))
        if not self.config.is_causal:
            x = self.norm(x)
        caches = []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, past[i] if past else None)
            caches.append(cache)
        if self.config.is_causal:
            return self.norm(x), caches
        return self.norm(functional.gelu(self.transform(x))), caches

    def logits(self, tokens, past=None):
        x, caches = self.states(tokens, past)
        if hasattr(self, "leave"):
            x = self.leave(x)
        return (functional.linear(x, self.words.weight),
                caches if self.config.keeps_cache else [])

    def generate(self, tokens):
        """A pass over the prompt, the first step after it, and the last one. Of the
        steps between them only what the cache grows by is left."""
        token = tokens[:, :1]
        logits, past = self.logits(tokens)
        kept = [logits] if self.config.keeps_prompt_logits else []
        step, cache = self.logits(token, past)
        step = after(step, kept + flat(past))
        del logits, kept, past
        between = self.config.new_tokens - 2
        cache = [[torch.cat((one, one[:, :, :1].expand(-1, -1, between, -1)), dim=2)
                  for one in pair] for pair in cache]
        last, grown = self.logits(token, cache)
        return after(step + last, flat(cache) + flat(grown))

    def forward(self, tokens):
        if self.config.new_tokens and not self.training:
            return self.generate(tokens)
        logits, caches = self.logits(tokens)
        kept = [one.detach() for one in flat(caches)]
        if not (self.training and self.config.has_loss):
            return (logits, *kept) if kept else logits
        kept, labels = [logits.detach(), *kept], tokens
        if self.config.is_causal:
            logits = logits[:, :-1, :].contiguous()
            labels = tokens[:, 1:].contiguous()
        loss = functional.cross_entropy(
            logits.view(-1, self.config.vocabulary), labels.view(-1))
        return (loss, *kept)


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
