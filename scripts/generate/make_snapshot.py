#!/usr/bin/env python3
"""Writes tests/snapshot/data/resnet18.pickle: a memory snapshot in the form of
torch.cuda.memory._snapshot() of PyTorch 2.13, made by hand without a GPU.

It records two forward passes of examples/resnet18.onnx at batch 8 in a program
that differs from the prediction in one way: it keeps the image before it was
normalised. Python's standard library is all that it needs.

    python3 scripts/generate/make_snapshot.py
"""

import pathlib
import pickle

FILE = (pathlib.Path(__file__).resolve().parents[2] /
        "tests/snapshot/data/resnet18.pickle")
BATCH = 8
MIB = 1 << 20
CUBLAS_BYTES = 8519680

NAMES = {}


def frame(filename, line, name):
    """One object per line of code, as py_symbolize makes them."""
    return NAMES.setdefault((filename, line, name),
                            {"name": name, "filename": filename, "line": line})


MAIN = frame("/home/me/infer.py", 21, "<module>")
CALL = [frame("/venv/torch/nn/modules/module.py", 1786, "_call_impl"),
        frame("/venv/torch/nn/modules/module.py", 1775, "_wrapped_call_impl")]


def in_forward(line, operator, file="/home/me/resnet.py"):
    return [frame("??", 0, "c10::cuda::CUDACachingAllocator::Native::malloc"),
            frame("??", 0, f"at::_ops::{operator}::call(at::Tensor const&)"),
            frame(file, line, "forward"), *CALL, MAIN]


class Device:
    """An allocator that reuses a block for its own size alone."""

    def __init__(self):
        self.segments, self.trace, self.free = [], [], {}
        self.time = 1_700_000_000_000_000

    def record(self, action, address, size, frames):
        self.time += 10
        self.trace.append(dict(
            action=action, addr=address, size=size, stream=0,
            time_us=self.time, compile_context="N/A", user_metadata="",
            pool_id=(0, 0), frames=frames))

    def segment(self, total):
        base = (self.segments[-1]["address"] + self.segments[-1]["total_size"]
                if self.segments else 0x7F0000000000)
        rest = dict(address=base, size=total, requested_size=0,
                    state="inactive", frames=[])
        self.segments.append(dict(
            device=0, address=base, total_size=total, allocated_size=0,
            active_size=0, requested_size=0, stream=0,
            segment_type="small" if total == 2 * MIB else "large",
            segment_pool_id=(0, 0), is_expandable=False, frames=[],
            blocks=[rest]))
        self.record("segment_alloc", base, total, [])
        return self.segments[-1]

    def block(self, size):
        """A free block of this size, or the beginning of what is left."""
        if self.free.get(size):
            return self.free[size].pop()
        is_small = size <= MIB
        fitting = [one for one in self.segments if is_small
                   and one["segment_type"] == "small"
                   and one["blocks"][-1]["size"] > size]
        segment = (fitting or [self.segment(
            2 * MIB if is_small else -(-size // (2 * MIB)) * 2 * MIB)])[0]
        rest = segment["blocks"][-1]
        block = dict(rest, size=size)
        segment["blocks"].insert(-1, block)
        rest.update(address=rest["address"] + size, size=rest["size"] - size)
        if rest["size"] == 0:
            segment["blocks"].pop()
        self.free.setdefault(size, [])
        return block

    def allocate(self, size, frames):
        block = self.block(-(-size // 512) * 512)
        block.update(state="active_allocated", requested_size=size,
                     frames=frames)
        self.record("alloc", block["address"], size, frames)
        return block

    def release(self, block):
        size = block["requested_size"]
        for action in ("free_requested", "free_completed"):
            self.record(action, block["address"], size, block["frames"])
        block.update(state="inactive", requested_size=0, frames=[])
        self.free[block["size"]].append(block)

    def snapshot(self):
        return dict(segments=self.segments, device_traces=[self.trace],
                    allocator_settings={"expandable_segments": False,
                                        "garbage_collection_threshold": 0.0},
                    external_annotations=[])


def weights():
    """Elements of what the file holds: batch norms are folded."""
    yield from (64 * 3 * 49, 64)
    before = 64
    for channels in (64, 128, 256, 512):
        for inputs in (before, channels):
            yield from (channels * inputs * 9, channels)
            yield from (channels * channels * 9, channels)
            if inputs != channels:
                yield from (channels * inputs, channels)
        before = channels
    yield from (1000 * 512, 1000)


def pass_forward(device):
    """The maps of the stem and of the first block: the rest is smaller."""
    half, quarter = BATCH * 64 * 112 * 112 * 4, BATCH * 64 * 56 * 56 * 4
    convolved = device.allocate(half, in_forward(31, "conv2d"))
    active = device.allocate(half, in_forward(31, "relu"))
    device.release(convolved)
    pooled = device.allocate(quarter, in_forward(31, "max_pool2d"))
    device.release(active)
    for operator in ("conv2d", "relu", "conv2d", "add"):
        following = device.allocate(quarter, in_forward(14, operator))
        device.release(pooled)
        pooled = following
    result = device.allocate(BATCH * 1000 * 4, in_forward(33, "linear"))
    device.release(pooled)
    return result


def main():
    device = Device()
    to = [frame("??", 0, "at::_ops::_to_copy::call(at::Tensor const&)"),
          frame("/home/me/infer.py", 9, "<module>")]
    for elements in weights():
        device.allocate(elements * 4, to)
    image = BATCH * 3 * 224 * 224 * 4
    device.allocate(image, [frame("/home/me/infer.py", 12, "load"), MAIN])
    device.allocate(image, [frame("/home/me/infer.py", 15, "normalise"), MAIN])
    device.allocate(CUBLAS_BYTES, [
        frame("??", 0, "at::cuda::getCurrentCUDABlasHandle(bool)"),
        *in_forward(33, "linear")])
    for _ in range(2):
        device.release(pass_forward(device))
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_bytes(pickle.dumps(device.snapshot(), protocol=4))


if __name__ == "__main__":
    main()
