#!/usr/bin/env python3
"""Holds the pages to the repository: links, index, glossary."""

import pathlib
import re
import unittest

from layers import CODE, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
# Sources, data and scripts that prose names in backquotes.
PATH = re.compile(r"`((?:src|include|frontends|datasets|training|scripts|docs|tests"
                  r"|data|examples)/[\w./-]+)`")


def pages():
    """All Markdown pages but those of hidden folders and builds."""
    for page in sorted(ROOT.rglob("*.md")):
        folders = page.relative_to(ROOT).parts[:-1]
        if not any(name.startswith(".") or name == "build" for name in folders):
            yield page


def anchor(heading):
    """The anchor that GitHub makes of a heading."""
    text = heading.lower().replace(" ", "-")
    return re.sub(r"[^\w-]", "", text)


def anchors(page):
    return {anchor(line.lstrip("#").strip())
            for line in page.read_text(encoding="utf-8").splitlines()
            if line.startswith("#")}


class Pages(unittest.TestCase):

    def test_link_to_what_is_there(self):
        for page in pages():
            for target, part in LINK.findall(page.read_text(encoding="utf-8")):
                if "://" in target:
                    continue
                found = (page.parent / target).resolve() if target else page
                with self.subTest(page=str(page.relative_to(ROOT)), link=target):
                    self.assertTrue(found.exists())
                    if part:
                        self.assertIn(part, anchors(found))

    def test_name_files_that_are_there(self):
        for page in pages():
            if page.name == "CHANGELOG.md":
                continue
            for name in PATH.findall(page.read_text(encoding="utf-8")):
                found = ROOT / name
                with self.subTest(page=str(page.relative_to(ROOT)), name=name):
                    self.assertTrue(found.exists()
                                    or list(found.parent.glob(found.name + ".*")))

    def test_are_all_in_the_index(self):
        index = (DOCS / "README.md").read_text(encoding="utf-8")
        for page in sorted(DOCS.glob("*.md")):
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", index)

    def test_of_a_folder_name_its_folders(self):
        for name in ("src", "scripts"):
            text = (ROOT / name / "README.md").read_text(encoding="utf-8")
            for folder in sorted((ROOT / name).iterdir()):
                if folder.is_dir() and folder.name != "__pycache__":
                    self.assertIn(f"`{folder.name}/`", text, f"{name}/README.md")

    def test_of_the_api_name_every_header(self):
        folder = ROOT / "include" / "foretell"
        text = (folder / "README.md").read_text(encoding="utf-8")
        for header in sorted(folder.glob("*.h")):
            self.assertIn(f"`{header.name}`", text)


class Glossary(unittest.TestCase):

    ROWS = table((DOCS / "glossary.md").read_text(encoding="utf-8"), "# Glossary")

    def test_names_types_that_their_headers_have(self):
        self.assertGreater(len(self.ROWS), 20)
        for word, _, name, header in self.ROWS:
            (name,), (header,) = CODE.findall(name), CODE.findall(header)
            with self.subTest(word=word):
                text = (ROOT / header).read_text(encoding="utf-8")
                defined = re.search(
                    rf"(?m)^(struct|class|enum class) {name}\b[^;]*\{{", text)
                self.assertTrue(defined, f"{header} defines no {name}")

    def test_has_every_word_and_type_once(self):
        for column in (0, 2):
            cells = [row[column] for row in self.ROWS if row[column] != "`Mode`"]
            self.assertEqual(sorted(set(cells)), sorted(cells))


if __name__ == "__main__":
    unittest.main()
