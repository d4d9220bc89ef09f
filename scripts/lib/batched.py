"""Predictions for many runs, with one start of foretell for all batches of a network.

    results = batched.Results((path, flags, batch) for ...)
    results.of(path, flags, batch)["memory"]
"""

import collections

import foretell


class Results:
    """What `predict` says of runs: a model, its flags but the batch, and a batch."""

    def __init__(self, runs):
        self.batches, self.known = collections.defaultdict(set), {}
        for model, flags, batch in runs:
            self.batches[model, flags].add(int(batch))

    def of(self, model, flags, batch):
        """The result of a run; all batches of its network are predicted with it."""
        key = model, flags
        if key not in self.known:
            wanted = sorted(self.batches[key])
            results = foretell.run_json(
                "predict", model, *flags, "--batch", ",".join(map(str, wanted)),
                "--json")["results"]
            self.known[key] = dict(zip(wanted, results, strict=True))
        return self.known[key][int(batch)]
