#!/usr/bin/env python3
"""Corpora of the fuzz targets as text and as the files that libFuzzer reads.

    tests/fuzz/corpus.py unpack TARGET FOLDER   corpus/TARGET.txt into files
    tests/fuzz/corpus.py pack TARGET FOLDER     files into corpus/TARGET.txt

A line of the text is a JSON string, each of whose characters is one byte. `pack`
writes them shortest first and leaves out what is longer than a limit.
"""

import hashlib
import json
import pathlib
import sys

CORPORA = pathlib.Path(__file__).absolute().parent / "corpus"
LONGEST = 4096


def read(target):
    """The inputs of a target, as bytes."""
    lines = (CORPORA / f"{target}.txt").read_text(encoding="ascii").splitlines()
    return [json.loads(line).encode("latin-1") for line in lines]


def write(target, inputs):
    ordered = sorted(set(inputs), key=lambda data: (len(data), data))
    (CORPORA / f"{target}.txt").write_text(
        "".join(json.dumps(data.decode("latin-1")) + "\n" for data in ordered),
        encoding="ascii")


def unpack(target, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for data in read(target):
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(target, folder):
    inputs = [path.read_bytes() for path in folder.iterdir() if path.is_file()]
    write(target, [data for data in inputs if len(data) <= LONGEST])


def main(argv):
    commands = {"pack": pack, "unpack": unpack}
    if len(argv) != 3 or argv[0] not in commands:
        sys.exit(__doc__)
    commands[argv[0]](argv[1], pathlib.Path(argv[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
