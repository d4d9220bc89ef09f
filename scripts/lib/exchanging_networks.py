"""Networks whose own operators exchange tensors: attention to sequences that processes
share, and experts that they share."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.tensor.experimental._context_parallel import _attention
from torch.utils.checkpoint import checkpoint

from shared_networks import Block, Blocks


class RingAttention(torch.autograd.Function):
    """PyTorch's ring around the kernel of the CPU, which it has only for GPUs."""

    FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

    @staticmethod
    def forward(context, query, key, value, group):
        out, lse = _attention._templated_ring_attention(
            group, 2, RingAttention.FORWARD, query=query, key=key, value=value,
            is_causal=True, dropout_p=0.0)
        context.save_for_backward(query, key, value, out, lse)
        context.group = group
        return out

    @staticmethod
    def backward(context, gradient):
        query, key, value, out, lse = context.saved_tensors
        return *_attention._templated_ring_attention_backward(
            context.group, 2, RingAttention.BACKWARD, grad_out=gradient,
            grad_out_name="grad_out", query=query, key=key, value=value, out=out,
            logsumexp=lse, is_causal=True, dropout_p=0.0), None


class RingBlock(Block):
    """A block of a decoder, whose processes may share sequences."""

    GROUP = None

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4).unbind(0)
        y = (nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
             if self.GROUP is None else RingAttention.apply(q, k, v, self.GROUP))
        return self.out(y.transpose(1, 2).reshape(batch, tokens, -1))


class Ring(Blocks):
    """tests/program/context_parallel_test.cc has the same."""

    BLOCK = RingBlock
    TOKENS = 16

    def units(self):
        return []

    def example(self):
        group = RingBlock.GROUP
        parts = 1 if group is None else dist.get_world_size(group)
        return torch.zeros(4, self.TOKENS // parts, dtype=torch.int64)


class CheckpointedRing(Ring):
    """Its blocks run again in the backward pass."""

    @staticmethod
    def run(block, x):
        return checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Experts(nn.ModuleList):
    """A module, which fully_shard can take as a unit of its own."""

    def forward(self, rows):
        parts = rows.split(rows.size(0) // len(self))
        return torch.cat([expert(part) for expert, part in zip(self, parts)])


class RoutedBlock(nn.Module):
    """Four experts, two for each token, which a router would choose equally often."""

    GROUP, EXPERTS, CHOICES = None, 4, 2

    def __init__(self, width, heads):
        super().__init__()
        parts = dist.get_world_size(self.GROUP) if self.GROUP else 1
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, self.EXPERTS, bias=False)
        self.experts = Experts(Expert(width) for _ in range(self.EXPERTS // parts))

    def exchange(self, rows):
        if self.GROUP is None:
            return rows
        parts = dist.get_world_size(self.GROUP)
        sizes = [rows.size(0) // parts] * parts
        return functional.all_to_all_single_autograd(rows, sizes, sizes, self.GROUP)

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        top, chosen = self.router(tokens).softmax(-1).topk(self.CHOICES)
        order = chosen.flatten().argsort()
        token = order // self.CHOICES
        rows = self.exchange(tokens[token])
        y = self.exchange(self.experts(rows)) * top.flatten()[order].unsqueeze(-1)
        return x + torch.zeros_like(tokens).index_add(0, token, y).view_as(x)


class Routed(Blocks):
    """tests/program/expert_parallel_test.cc has the same."""

    BLOCK = RoutedBlock
