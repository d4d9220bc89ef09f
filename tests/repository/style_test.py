#!/usr/bin/env python3
"""Holds help texts and sources to rules that no compiler knows."""

import pathlib
import re
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COMMAND = REPOSITORY / "cli"
LIBRARY = ("include", "src", "cli", "frontends", "datasets", "training",
           "serve")
# Literals that stand side by side are one.
SEAM = re.compile(r'"\s*\n\s*"')
# Sentences that end a call: what CLI11 is told of options, flags, subcommands.
HELP = re.compile(r',\s*"([A-Z][^"]*)"\s*\)')
PREPOSITION = re.compile(r"(Of|For|With|As|In|By|At|To|On|From)\b")
# Words that docs/style.md replaces wherever they stand.
ODD = re.compile(r"\b([Aa]new|[Bb]eside|[Ww]hoever|[Nn]obody|[Ss]omebody"
                 r"|in the place of|from \d+ on|made when missing"
                 r"|made when it is missing|is no whole number)\b")
COMMENT = re.compile(r"//.*")


def sources():
    return [file for folder in LIBRARY
            for file in sorted((REPOSITORY / folder).rglob("*"))
            if file.suffix in (".cc", ".h")]


class HelpTexts(unittest.TestCase):

    TEXTS = [text for file in sorted(COMMAND.rglob("*.cc"))
             for text in HELP.findall(SEAM.sub("", file.read_text()))]

    def test_are_found(self):
        self.assertIn("Seed of random weights and inputs", self.TEXTS)
        self.assertGreater(len(self.TEXTS), 100)

    def test_begin_with_a_noun_or_a_verb(self):
        self.assertEqual(
            [text for text in self.TEXTS if PREPOSITION.match(text)], [])


class Words(unittest.TestCase):

    def test_of_comments_are_plain(self):
        files = sources()
        self.assertGreater(len(files), 400)
        for file in files:
            text = " ".join(COMMENT.findall(file.read_text()))
            with self.subTest(file=file.name):
                self.assertEqual(ODD.findall(text), [])

    def test_of_help_texts_are_plain(self):
        self.assertEqual([text for text in HelpTexts.TEXTS if ODD.search(text)],
                         [])


class Texts(unittest.TestCase):

    def test_are_formatted_by_fmt(self):
        self.assertEqual(
            [str(file.relative_to(REPOSITORY)) for file in sources()
             if "std::to_string" in file.read_text()], [])


if __name__ == "__main__":
    unittest.main()
