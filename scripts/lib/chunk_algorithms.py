#!/usr/bin/env python3
"""Five tensor algorithms by Dask, one block at a time, for `foretell plan`.

    chunk_algorithms.py ALGORITHM DTYPE SHAPE              # one block of this shape
    chunk_algorithms.py ALGORITHM DTYPE SHAPE --file VOLUME.h5 [--chunks CHUNKS]

A task reads its chunk with the halo from the file, computes, and keeps one number of
the result, as an analysis of attributes does; so that memory depends on the block alone.
(da.map_overlap keeps chunks for their neighbours, and its peak grows with the volume.)
Without --file the volume is one block of random numbers. CHUNKS is `auto`, Dask's own
choice, or sizes by axis. Prints the chunks and the sum of the results as JSON. Needs
dask[array], h5py, numpy and scipy; one thread.
"""

import argparse
import collections
import json
import math
import os
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dask
import dask.array as da
import h5py
import numpy as np
import scipy.fft
import scipy.ndimage

# `arrays`: the axes of each input; `whole`: axes that no chunk cuts.
Algorithm = collections.namedtuple("Algorithm",
                                   "axes arrays halo whole compute")
WEIGHTS = np.array([1, 2, 1])
KERNEL = np.multiply.outer(np.multiply.outer(WEIGHTS, WEIGHTS), WEIGHTS) / 64


def convolve(block):
    return scipy.ndimage.convolve(block, KERNEL.astype(block.dtype))


def laplace(block):
    inner = (slice(1, -1),) * block.ndim
    result = np.zeros_like(block)
    result[inner] = -2 * block.ndim * block[inner]
    for axis in range(block.ndim):
        for side in (slice(None, -2), slice(2, None)):
            place = inner[:axis] + (side,) + inner[axis + 1:]
            result[inner] += block[place]
    return result


def transform(block):
    return np.abs(scipy.fft.rfft(block, axis=-1))


def sort(block):
    return np.sort(block, axis=-1)


VOLUME = (("z", "y", "x"),)
ALGORITHMS = {
    "convolution3d": Algorithm("zyx", VOLUME, 1, "", convolve),
    "fft": Algorithm("zyx", VOLUME, 0, "x", transform),
    "matmul": Algorithm("mkn", (("m", "k"), ("k", "n")), 0, "k", np.matmul),
    "sort": Algorithm("zyx", VOLUME, 0, "x", sort),
    "stencil": Algorithm("zyx", VOLUME, 1, "", laplace),
}
DTYPES = {"f32": "float32", "f64": "float64"}


def sizes(algorithm, shape, axes):
    return tuple(shape[algorithm.axes.index(axis)] for axis in axes)


def write_volume(path, algorithm, dtype, shape):
    """A file with the algorithm's inputs, of random numbers, row by row."""
    draw = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        for i, axes in enumerate(algorithm.arrays):
            data = file.create_dataset(str(i), sizes(algorithm, shape, axes),
                                       dtype)
            for row in range(len(data)):
                data[row] = draw.random(data.shape[1:], np.float32)


def auto_chunks(algorithm, dtype, shape):
    """Chunks per axis as Dask's `auto` has them, whole axes left whole."""
    if len(algorithm.arrays) == 1:
        wanted = {i: -1 if axis in algorithm.whole else "auto"
                  for i, axis in enumerate(algorithm.axes)}
        return da.core.normalize_chunks(wanted, shape, dtype=dtype)
    chunks = {}
    for axes in algorithm.arrays:
        wanted = {i: -1 if axis in algorithm.whole else "auto"
                  for i, axis in enumerate(axes)}
        found = da.core.normalize_chunks(wanted, sizes(algorithm, shape, axes),
                                         dtype=dtype)
        chunks.update(zip(axes, found))
    return tuple(chunks[axis] for axis in algorithm.axes)


def read(data, bounds, halo):
    """A chunk with the halo, as far as there is one."""
    return data[tuple(slice(max(begin - halo, 0), min(end + halo, size))
                      for (begin, end), size in zip(bounds, data.shape))]


def without_halo(result, bounds, halo):
    """The part of a block's result that is the chunk's."""
    if not halo:
        return result
    return result[tuple(slice(min(begin, halo), min(begin, halo) + end - begin)
                        for begin, end in bounds)]


def graph(path, algorithm, shape, places):
    """A Dask array of one number per chunk; a task opens the file itself."""
    edges = [np.cumsum((0, *parts)) for parts in places]

    def task(block_info=None):
        at = block_info[None]["chunk-location"]
        bounds = [(int(ends[i]), int(ends[i + 1])) for ends, i in zip(edges, at)]
        with h5py.File(path, "r") as file:
            blocks = [read(file[str(i)], sizes(algorithm, bounds, axes),
                           algorithm.halo)
                      for i, axes in enumerate(algorithm.arrays)]
        result = without_halo(algorithm.compute(*blocks), bounds,
                              algorithm.halo)
        return np.full((1,) * len(shape), result.sum(dtype=np.float64))

    return da.map_blocks(task, chunks=tuple((1,) * len(parts)
                                            for parts in places),
                         dtype=np.float64, meta=np.empty((0,) * len(shape)))


def run(path, algorithm, dtype, shape, chunks):
    if chunks == "auto":
        chunks = auto_chunks(algorithm, dtype, shape)
    places = da.core.normalize_chunks(chunks, shape, dtype=dtype)
    numbers = graph(path, algorithm, shape, places)
    with dask.config.set(scheduler="synchronous"):
        total = float(numbers.sum().compute())
    return {"chunk": [parts[0] for parts in places],
            "chunks": math.prod(len(parts) for parts in places),
            "sum": total}


def parse_sizes(text):
    return tuple(int(word) for word in text.split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("dtype", choices=DTYPES)
    parser.add_argument("shape", type=parse_sizes)
    parser.add_argument("--file", help="inputs, written where it is missing")
    parser.add_argument("--chunks", default=None)
    arguments = parser.parse_args()
    algorithm = ALGORITHMS[arguments.algorithm]
    dtype = np.dtype(DTYPES[arguments.dtype])
    chunks = arguments.chunks or "-1"
    chunks = {"auto": "auto", "-1": arguments.shape}.get(chunks) \
        or parse_sizes(chunks)
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or os.path.join(folder, "volume.h5")
        if not os.path.exists(path):
            write_volume(path, algorithm, dtype, arguments.shape)
        json.dump(run(path, algorithm, dtype, arguments.shape, chunks),
                  sys.stdout)
    print()


if __name__ == "__main__":
    main()
