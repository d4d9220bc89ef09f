#!/usr/bin/env python3
"""Checks what docs_test.py takes for the output that a page has."""

import unittest

from docs_test import Block, matches, updated

PAGE = ["memory = 0.000171*batch**2 + 510.8", "symbolic  0.52 %", "…", "of 20 rows"]


def printed(formula="memory = 0.000171*batch**2 + 510.8", error="symbolic  0.52 %",
            rows="of 20 rows"):
    return [formula, error, "left out", "so is this", rows]


class Matching(unittest.TestCase):
    def test_takes_the_output_to_the_letter(self):
        self.assertTrue(matches(PAGE, printed()))
        self.assertFalse(matches(PAGE, printed(error="symbolic  0.53 %")))
        self.assertFalse(matches(PAGE, printed(error="symbolic 0.52 %")))

    def test_takes_numbers_within_a_share(self):
        near = printed("memory = 0.00017102*batch**2 + 505.1", "symbolic 0.53 %")
        self.assertTrue(matches(PAGE, near, 0.02))
        self.assertFalse(matches(PAGE, near, 0.005))

    def test_takes_no_other_words_powers_or_counts(self):
        for other in (printed("memory = 0.000171*batch**3 + 510.8"),
                      printed("memory = 0.000171*edge**2 + 510.8"),
                      printed("memory = 0.000171*batch**2 - 510.8"),
                      printed(error="symbolic  0.55 %"),
                      printed(rows="of 21 rows")):
            self.assertFalse(matches(PAGE, other, 0.02), other)


class Updating(unittest.TestCase):
    def test_keeps_the_indentation_of_the_fence_alone(self):
        for fence in ("", "  "):
            page = [fence + line for line in
                    ("<!-- output -->", "```", "        us", "conv    1", "```")]
            block = Block(page, 0)
            printed = ["        us", "conv    2"]
            self.assertEqual(updated(page, [(block, printed)])[2:4],
                             [fence + line for line in printed])


if __name__ == "__main__":
    unittest.main()
