"""A transformer over patches of a video, as transformers computes ViViT.

Its activation is no kernel but eight operators, and Python's variables keep what a layer
began with until it is over. `export_vivit` writes the model without weights as a
TorchScript trace. Needs torch.
"""

import torch
from torch import nn
from torch.nn import functional

from language_models import after, save_without_weights

WIDTH, DEPTH, HEADS, INNER, CLASSES = 768, 12, 12, 3072, 400
FRAMES, EDGE, TUBE, PATCH = 32, 224, 2, 16
TOKENS = (FRAMES // TUBE) * (EDGE // PATCH) ** 2


def gelu_fast(x):
    """transformers' FastGELUActivation."""
    return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (
        1.0 + 0.044715 * x * x)))


class Layer(nn.Module):
    def __init__(self, is_eager):
        super().__init__()
        self.is_eager = is_eager
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.parts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def attention(self, x):
        query, key, value = (
            part(x).view(x.size(0), x.size(1), HEADS, -1).transpose(1, 2)
            for part in self.parts)
        if self.is_eager:
            scores = torch.matmul(query, key.transpose(-1, -2))
            scores = scores / (query.size(-1) ** 0.5)
            y = torch.matmul(functional.softmax(scores, dim=-1), value)
        else:
            y = functional.scaled_dot_product_attention(query, key, value)
        return self.out(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        attended = self.attention(self.norms[0](x))
        states = attended + x
        normed = self.norms[1](states)
        inner = after(gelu_fast(self.widen(normed)), [normed])
        return after(self.narrow(inner) + states, [attended, x])


class Vivit(nn.Module):
    """Videos [batch, 32, 3, 224, 224] to logits."""

    def __init__(self, is_eager):
        super().__init__()
        self.embed = nn.Linear(3 * TUBE * PATCH * PATCH, WIDTH)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(torch.zeros(1, TOKENS + 1, WIDTH))
        self.layers = nn.ModuleList(Layer(is_eager) for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, video):
        side = EDGE // PATCH
        patches = video.view(-1, FRAMES // TUBE, TUBE, 3, side, PATCH, side, PATCH)
        patches = patches.permute(0, 1, 4, 6, 3, 2, 5, 7).reshape(
            -1, TOKENS, 3 * TUBE * PATCH * PATCH)
        x = torch.cat((self.first.expand(video.size(0), -1, -1),
                       self.embed(patches)), dim=1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def export_vivit(is_eager, path):
    with torch.device("meta"):
        video = torch.zeros(2, FRAMES, 3, EDGE, EDGE, dtype=torch.float16)
        traced = torch.jit.trace(Vivit(is_eager).eval().to(torch.float16), video,
                                 check_trace=False)
    save_without_weights(traced, path)
