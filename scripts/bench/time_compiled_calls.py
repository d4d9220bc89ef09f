#!/usr/bin/env python3
"""What a call of a compiled step costs the CPU for each parameter.

    scripts/bench/time_compiled_calls.py [--parameters FEW MANY] [--calls N]

Steps whose passes compute nothing, so that what is left are guards, the wrappers of
AOTAutograd and, in training, the autograd function and the gradients that it hands to
the parameters. Prints the fewest microseconds of the thread's CPU time in N calls, as a
slope between networks of FEW and MANY parameters: of a call in inference, and of a
forward and a backward pass in training; the slopes of both between as many tensors that
the forward pass keeps, without parameters; and of assert_size_stride, which generated
code calls for every tensor. `foretell host` says which factor the host has.
"""

import argparse
import time

import torch
from torch._C._dynamo.guards import assert_size_stride
from torch._dynamo.backends.common import aot_autograd

US = 1e6
ELEMENTS = 4
REPEATS = 200


class Chain(torch.nn.Module):
    """A product with each parameter."""

    def __init__(self, count):
        super().__init__()
        self.factors = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.zeros(ELEMENTS)) for _ in range(count)])

    def forward(self, x):
        for factor in self.factors:
            x = x * factor
        return x


class Activations(torch.nn.Module):
    """One parameter; every result is kept for the backward pass."""

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.factor = torch.nn.Parameter(torch.zeros(ELEMENTS))

    def forward(self, x):
        x = x * self.factor
        for _ in range(self.count):
            x = torch.tanh(x)
        return x


class Passes:
    """Compilers whose passes return the results of their first call; gradients are
    new tensors, made by `prepare` and handed over without a reference left here: of
    one that is shared, autograd would make a copy."""

    def __init__(self):
        self.gradients = None
        self.prepared = []

    def prepare(self):
        if self.gradients:
            self.prepared = [one if one is None else one.clone()
                             for one in self.gradients]

    def forward(self, graph, _):
        results = None

        def run(arguments):
            nonlocal results
            if results is None:
                made = list(graph(*arguments))
                places = {id(one): i for i, one in enumerate(arguments)}
                results = [(places.get(id(one)), one) for one in made]
            given = [one if place is None else arguments[place]
                     for place, one in results]
            arguments.clear()
            return given
        run._boxed_call = True
        return run

    def backward(self, graph, _):
        def run(arguments):
            if self.gradients is None:
                self.gradients = list(graph(*arguments))
                self.prepare()
            arguments.clear()
            given, self.prepared = self.prepared, []
            return given
        run._boxed_call = True
        return run


def compiled(network):
    torch._dynamo.reset()
    passes = Passes()
    backend = aot_autograd(fw_compiler=passes.forward, bw_compiler=passes.backward)
    return passes, torch.compile(network, backend=backend)


def us_of(call):
    begin = time.thread_time()
    call()
    return (time.thread_time() - begin) * US


def inference_us(count, calls):
    _, step = compiled(Chain(count))
    x = torch.ones(ELEMENTS)
    with torch.no_grad():
        step(x)
        return min(us_of(lambda: step(x)) for _ in range(calls))


def training_us(network, calls):
    """Of the forward and of the backward pass."""
    passes, step = compiled(network)
    x = torch.ones(ELEMENTS)
    step(x).sum().backward()
    forward, backward = [], []
    for _ in range(calls):
        network.zero_grad()
        passes.prepare()
        begin = time.thread_time()
        loss = step(x).sum()
        forward.append((time.thread_time() - begin) * US)
        backward.append(us_of(loss.backward))
    return min(forward), min(backward)


def check_us(calls):
    tensor = torch.zeros(64, 32, 3, 3)

    def check():
        for _ in range(REPEATS):
            assert_size_stride(tensor, (64, 32, 3, 3), (288, 9, 3, 1))
    return min(us_of(check) for _ in range(calls)) / REPEATS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parameters", type=int, nargs=2, default=(20, 220))
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    few, many = options.parameters
    slopes = {"inference": inference_us(many, options.calls) -
                           inference_us(few, options.calls)}
    for what, make in (("", Chain), (", kept tensor", Activations)):
        less, more = (training_us(make(count), options.calls) for count in (few, many))
        slopes |= {f"forward{what}": more[0] - less[0],
                   f"backward{what}": more[1] - less[1]}
    for name, difference in slopes.items():
        print(f"{name}: {difference / (many - few):.2f} us")
    print(f"assert_size_stride: {check_us(options.calls):.2f} us")


if __name__ == "__main__":
    main()
