"""Reads the layers of docs/architecture.md and finds includes that break them."""

import collections
import copy
import pathlib
import re

SOURCES = ("include", "src", "cli", "frontends", "datasets", "training",
           "serve")
SUFFIXES = (".h", ".cc", ".cu")
INCLUDE = re.compile(r'^#\s*include\s+(?:"([^"]+)"|<((?:torch|ATen|c10)/[^>]+)>)',
                     re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")

# `files` are paths or their beginnings; `torch`: may name LibTorch.
Layer = collections.namedtuple("Layer", "name files torch")
Exemption = collections.namedtuple("Exemption", "source target")


def table(page, heading):
    """The cells of the first table below a heading of a Markdown page."""
    lines = page.split(heading + "\n", 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def read_layers(page):
    return [Layer(name, CODE.findall(files), torch == "yes")
            for name, files, torch, *_ in table(page, "## The order of layers")]


def read_exemptions(page):
    return [Exemption(*CODE.findall(source)[:1], *CODE.findall(target)[:1])
            for source, target, *_ in table(page, "### Exceptions")]


class Tree:
    """The sources of a repository and what they include."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = [str(path.relative_to(self.root)) for name in SOURCES
                      for path in sorted((self.root / name).rglob("*"))
                      if path.suffix in SUFFIXES]
        known = set(self.files)
        self.includes, self.torch = {}, set()
        for name in self.files:
            self.includes[name] = set()
            for quoted, torch in INCLUDE.findall(
                    (self.root / name).read_text(encoding="utf-8")):
                if torch:
                    self.torch.add(name)
                found = self._find(name, quoted, known)
                if found:
                    self.includes[name].add(found)

    @staticmethod
    def _find(name, quoted, known):
        """The file that `quoted` means, as the compiler's search path has it."""
        places = [pathlib.PurePath(name).parent, "include", "src", "."]
        for place in places if quoted else ():
            candidate = str(pathlib.PurePath(place, quoted))
            if candidate in known:
                return candidate
        return None

    def forget(self, exemptions):
        """A copy that does not have the includes of the exemptions."""
        other = copy.copy(self)
        other.includes = {
            name: {found for found in includes
                   if not any(name.startswith(one.source)
                              and found.startswith(one.target)
                              for one in exemptions)}
            for name, includes in self.includes.items()}
        return other

    def reaches_torch(self, name, seen=None):
        """Whether a file names LibTorch, itself or by what it includes."""
        seen = set() if seen is None else seen
        seen.add(name)
        return name in self.torch or any(
            self.reaches_torch(other, seen) for other in self.includes[name]
            if other not in seen)


def layer_of(name, layers):
    """The number of a file's layer; the longest beginning counts."""
    best, length = None, 0
    for number, layer in enumerate(layers):
        for start in layer.files:
            if name.startswith(start) and len(start) > length:
                best, length = number, len(start)
    return best


def without_layer(tree, layers):
    return [name for name in tree.files if layer_of(name, layers) is None]


def upward(tree, layers):
    """Pairs (file, included file) that point to a later layer."""
    return sorted((name, other) for name in tree.files
                  for other in tree.includes[name]
                  if None not in (layer_of(name, layers),
                                  layer_of(other, layers))
                  and layer_of(other, layers) > layer_of(name, layers))


def needing_torch(tree, layers):
    """Files of layers without LibTorch that need it all the same."""
    return [name for name in tree.files
            if layer_of(name, layers) is not None
            and not layers[layer_of(name, layers)].torch
            and tree.reaches_torch(name)]


def in_circles(tree):
    """Pairs (file, included file) that close a circle between folders."""
    edges = collections.defaultdict(set)
    for name in tree.files:
        for other in tree.includes[name]:
            here, there = (str(pathlib.PurePath(one).parent)
                           for one in (name, other))
            if here != there:
                edges[here, there].add((name, other))
    targets = collections.defaultdict(set)
    for here, there in edges:
        targets[here].add(there)

    def reachable(folder):
        found, todo = set(), [folder]
        while todo:
            new = targets[todo.pop()] - found
            found |= new
            todo += new
        return found

    return sorted(pair for (here, there), pairs in edges.items()
                  if here in reachable(there) for pair in pairs)


def broken(tree, layers, exemptions):
    """Includes that break a rule though the exempt ones are not looked at."""
    rest = tree.forget(exemptions)
    return upward(rest, layers) + in_circles(rest)
