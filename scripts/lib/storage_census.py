"""Bytes of living storages, as PyTorch's dispatcher shows them. Needs torch."""

import weakref

from torch.utils._python_dispatch import TorchDispatchMode


class StorageCensus(TorchDispatchMode):
    """Counts storages from `count` on until they die: `live` bytes, and the most
    that lived at once as `peak`. Subclasses decide in `results_of(func, results)`
    which tensors of an operator's results count."""

    def __init__(self):
        super().__init__()
        self.sizes = {}
        self.live = self.peak = 0

    def count(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.sizes:
            return
        self.sizes[key] = storage.nbytes()
        self.live += storage.nbytes()
        weakref.finalize(storage, self.forget, key)

    def forget(self, key):
        self.live -= self.sizes.pop(key)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        for tensor in self.results_of(func, results):
            self.count(tensor)
        self.peak = max(self.peak, self.live)
        return results
