"""The colours that pages give to what memory is made of, for other pictures."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "src" / "page"


def part_colours():
    """"#4e79a7" by part of the memory ("parameters"), as on light pages."""
    sheet = (PAGE / "page.css").read_text()
    colours = {}
    for name, colour in re.findall(r"(--\w+): (#[0-9a-f]{6})", sheet):
        colours.setdefault(name, colour)
    table = (PAGE / "scripts" / "palette.js").read_text()
    table = table[:table.index("};")]
    return {part: colours[name] for part, name in
            re.findall(r"^  '?([\w ]+)'?: 'var\((--\w+)\)',$", table, re.MULTILINE)}
