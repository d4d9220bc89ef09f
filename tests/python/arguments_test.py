"""What modules are called with lives until they return, as in Python, where the
caller's frame and nn.Module.__call__ hold it; so do the variables of forward() until
they are assigned again. PyTorch itself is asked."""

import pathlib
import sys
import tempfile
import unittest

import foretell
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
from storage_census import StorageCensus  # noqa: E402

MIB = 2**20


class Twice(nn.Module):
    """Of twice the width."""

    def forward(self, x):
        return torch.cat([x, x], -1)


class Half(nn.Module):

    def forward(self, x):
        return x.unflatten(-1, (2, -1)).sum(-2)


class Block(nn.Module):
    """Nobody reads the normed rows after the first layer of the branch."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.branch = nn.Sequential(Twice(), nn.GELU(), Twice(), nn.Sigmoid(),
                                    Half(), Half())

    def forward(self, x):
        return x + self.branch(self.norm(x))


class InAList(nn.Module):
    """The list is no module that is called: each block lets go of its own input."""

    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        x = x + 1
        for block in self.blocks:
            x = block(x)
        return x


class InARow(nn.Module):
    """The row holds what its first block reads until its last one returns."""

    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(x + 1)


class AsAWord(nn.Module):
    """Held by its name in the call, and read late."""

    def __init__(self, width):
        super().__init__()
        self.inner = Block(width)

    def forward(self, x, mask):
        y = self.inner(x)
        return y * mask


class Asks(nn.Module):

    def __init__(self, width):
        super().__init__()
        self.one = AsAWord(width)
        self.two = nn.Softmax(-1)

    def forward(self, x):
        return self.two(self.one(x.neg(), mask=x.cos()))


class Variables(nn.Module):
    """`wide` and the first `deep` are not read after the lines below them."""

    def forward(self, x):
        wide = torch.cat([x, x, x], -1)
        y = wide.unflatten(-1, (3, -1)).sum(-2)
        y = y.sigmoid()
        left, right = torch.cat([y, y], -1).chunk(2, -1)
        y = left * right
        deep = torch.cat([y, y, y, y], -1)
        deep = deep.unflatten(-1, (4, -1)).sum(-2)
        return deep + y


class VariablesInALoop(nn.Module):
    """Each round lets go of the last one's."""

    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Variables() for _ in range(depth))
        self.act = nn.GELU()

    def forward(self, x):
        first = x * 2
        for block in self.blocks:
            x = block(x)
            x += self.act(self.act(first))
        x = self.act(self.act(x))
        return x


class Census(StorageCensus):

    def results_of(self, func, results):
        return [tensor for tensor in torch.utils._pytree.tree_leaves(results)
                if isinstance(tensor, torch.Tensor)]


def peak_in_python(module, x):
    """MiB of the results that are alive at once."""
    module, x = module.to("meta").eval(), x.to("meta")
    with torch.inference_mode(), Census() as census:
        module(x)
    return census.peak / MIB


def peak_foretold(answer):
    """The same of an answer, whose weights and inputs are there throughout."""
    memory = answer.memory
    return memory.allocated_mib - memory.parameters_mib - memory.inputs_mib


class Arguments(unittest.TestCase):
    NETWORKS = (InAList(256, 3), InARow(256, 3), Asks(256),
                nn.Sequential(Twice(), InARow(512, 2), nn.Tanh(), InAList(512, 2)))
    WITH_VARIABLES = (Variables(), VariablesInALoop(3),
                      nn.Sequential(nn.Tanh(), Variables(), nn.Tanh()))
    INPUT = torch.zeros(8, 512, 256)

    def expect(self, open_file, networks=NETWORKS):
        """Blocks of 512 bytes are what weights take more than their bytes."""
        for module in networks:
            with self.subTest(module=module):
                self.assertAlmostEqual(
                    peak_foretold(open_file(module.eval().to_empty(device="cpu"))),
                    peak_in_python(module, self.INPUT), delta=0.02)

    def test_of_a_module(self):
        self.expect(lambda module: foretell.predict(module, self.INPUT),
                    self.NETWORKS + self.WITH_VARIABLES)

    def test_of_a_trace(self):
        def of_trace(module):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "traced.pt")
                torch.jit.trace(module, self.INPUT).save(path)
                return foretell.predict(path, input="f32[8,512,256]")
        self.expect(of_trace)


if __name__ == "__main__":
    unittest.main()
