#!/usr/bin/env python3
"""Holds the includes of the sources to the layers of docs/architecture.md."""

import pathlib
import tempfile
import unittest

import layers as rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ADVICE = "\n(the table of layers is in docs/architecture.md)"


class Sources(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        page = PAGE.read_text(encoding="utf-8")
        cls.layers = rules.read_layers(page)
        cls.exemptions = rules.read_exemptions(page)
        cls.tree = rules.Tree(ROOT)

    def test_every_file_stands_in_a_layer(self):
        self.assertEqual(rules.without_layer(self.tree, self.layers), [], ADVICE)

    def test_every_row_of_the_table_has_files(self):
        for layer in self.layers:
            for start in layer.files:
                self.assertTrue(any(name.startswith(start)
                                    for name in self.tree.files),
                                f"layer {layer.name}: nothing in {start}")

    def test_no_include_points_upward(self):
        rest = self.tree.forget(self.exemptions)
        self.assertEqual(rules.upward(rest, self.layers), [], ADVICE)

    def test_no_circle_between_folders(self):
        rest = self.tree.forget(self.exemptions)
        self.assertEqual(rules.in_circles(rest), [], ADVICE)

    def test_layers_without_libtorch_do_not_reach_it(self):
        self.assertEqual(rules.needing_torch(self.tree, self.layers), [], ADVICE)

    def test_every_exception_is_still_one(self):
        for one in self.exemptions:
            others = [other for other in self.exemptions if other != one]
            self.assertNotEqual(
                rules.broken(self.tree, self.layers, others), [],
                f"{one.source} -> {one.target} is paid: take it out of the "
                "table of exceptions" + ADVICE)


class Rules(unittest.TestCase):
    """The checks themselves, on a tree of three folders."""

    LAYERS = [rules.Layer("low", ["src/low/", "include/foretell/low.h"], False),
              rules.Layer("high", ["src/high/"], True)]

    def write(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = pathlib.Path(folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return rules.Tree(folder.name)

    def sound(self):
        return {"include/foretell/low.h": "",
                "src/low/a.cc": '#include "foretell/low.h"\n#include "b.h"\n',
                "src/low/b.h": "",
                "src/high/c.h": "#include <torch/torch.h>\n",
                "src/high/d.cc": '#include "low/b.h"\n#include "high/c.h"\n'}

    def test_say_nothing_of_a_sound_tree(self):
        tree = self.write(self.sound())
        self.assertEqual(tree.includes["src/low/a.cc"],
                         {"include/foretell/low.h", "src/low/b.h"})
        self.assertEqual(rules.without_layer(tree, self.LAYERS), [])
        self.assertEqual(rules.upward(tree, self.LAYERS), [])
        self.assertEqual(rules.in_circles(tree), [])
        self.assertEqual(rules.needing_torch(tree, self.LAYERS), [])

    def test_find_an_include_upward_its_circle_and_its_libtorch(self):
        tree = self.write({**self.sound(),
                           "src/low/b.h": '#include "high/c.h"\n'})
        upward = [("src/low/b.h", "src/high/c.h")]
        self.assertEqual(rules.upward(tree, self.LAYERS), upward)
        self.assertEqual(rules.in_circles(tree),
                         [("src/high/d.cc", "src/low/b.h"), *upward])
        self.assertEqual(rules.needing_torch(tree, self.LAYERS),
                         ["src/low/a.cc", "src/low/b.h"])

    def test_forget_what_is_exempt(self):
        tree = self.write({**self.sound(),
                           "src/low/b.h": '#include "high/c.h"\n'})
        exempt = [rules.Exemption("src/low/b.h", "src/high/")]
        self.assertEqual(len(rules.broken(tree, self.LAYERS, [])), 3)
        self.assertEqual(rules.broken(tree, self.LAYERS, exempt), [])

    def test_find_a_file_without_a_layer(self):
        tree = self.write({**self.sound(), "training/e.cc": ""})
        self.assertEqual(rules.without_layer(tree, self.LAYERS),
                         ["training/e.cc"])

    def test_take_the_longest_beginning(self):
        layers = [*self.LAYERS, rules.Layer("part", ["src/low/b"], False)]
        self.assertEqual(rules.layer_of("src/low/b.h", layers), 2)
        self.assertEqual(rules.layer_of("src/low/a.cc", layers), 0)

    def test_read_the_tables_of_a_page(self):
        page = ("# x\n## The order of layers\n\ntext\n\n"
                "| layer | files | LibTorch | what |\n|---|---|---|---|\n"
                "| low | `a/` `b.h` | no | it |\n| high | `c/` | yes | it |\n\n"
                "### Exceptions\n\n| from | to | why |\n|---|---|---|\n"
                "| `a/x.cc` | `c/` | so |\n")
        self.assertEqual(rules.read_layers(page),
                         [("low", ["a/", "b.h"], False), ("high", ["c/"], True)])
        self.assertEqual(rules.read_exemptions(page), [("a/x.cc", "c/")])


if __name__ == "__main__":
    unittest.main()
