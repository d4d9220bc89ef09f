#!/usr/bin/env python3
"""What memory is made of has one color: on pages, terminals and drawn pictures."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import palette  # noqa: E402

STEPS = (0, 95, 135, 175, 215, 255)


def of_terminal(code):
    """Red, green and blue of one of the 256 colors of terminals."""
    if code >= 232:
        return (8 + 10 * (code - 232),) * 3
    code -= 16
    return STEPS[code // 36], STEPS[code // 6 % 6], STEPS[code % 6]


def of_page(color):
    return tuple(int(color[i:i + 2], 16) for i in (1, 3, 5))


class Palette(unittest.TestCase):

    def setUp(self):
        self.page = palette.part_colours()
        self.terminal = {part: int(code) for part, code in re.findall(
            r'\{"([\w ]+)", (\d+)\}',
            (ROOT / "cli/print/memory_bar.cc").read_text())}

    def test_has_every_part_of_the_memory(self):
        source = (ROOT / "src/judge/summary.cc").read_text()
        parts = source[source.index("MemoryParts(const Report"):]
        parts = parts[:parts.index("};")]
        names = set(re.findall(r'\{"([\w ]+)",', parts))
        self.assertGreater(len(names), 9)
        self.assertEqual(set(self.page), names)
        self.assertEqual(set(self.terminal), names)

    def test_gives_no_color_twice(self):
        for colors in (self.page, self.terminal):
            self.assertEqual(len(set(colors.values())), len(colors))

    def test_is_about_the_same_on_terminals(self):
        for part, code in self.terminal.items():
            distance = max(abs(a - b) for a, b in
                           zip(of_terminal(code), of_page(self.page[part])))
            self.assertLess(distance, 48, part)


if __name__ == "__main__":
    unittest.main()
