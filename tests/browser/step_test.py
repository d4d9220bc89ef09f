#!/usr/bin/env python3
"""The page of `foretell report` and `predict --html`.

    step_test.py BINARY ROOT [unittest arguments]
"""

import json
import pathlib
import sys
import unittest

from chromium_page import DESK, PHONE, PageTest, main

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "attacks"))
from onnx_file import (file_of, graph, node, ones, opset,  # noqa: E402
                       value_info)

MARKUP = b'</script><img src=x onerror="document.title=1"><!--\xe2\x80\xae'
SECTIONS = ["Verdict", "Figures", "Warnings", "Memory", "Modules", "Kernels",
            "MIG slices", "Batch size"]


def hostile_model():
    """A network whose every name is markup."""
    names = [name + MARKUP for name in (b"x", b"w", b"h", b"y")]
    x, w, h, y = names
    nodes = [node("MatMul", [x, w], [h], name=b"/a" + MARKUP + b"/b/MatMul"),
             node("Relu", [h], [y], name=b"/a" + MARKUP + b"/c/Relu")]
    return file_of(graph(nodes, [ones(w, 64, 64)], [value_info(x, (2, 64))],
                         [value_info(y, (2, 64))], b"net" + MARKUP),
                   [opset(17)])


class Report(PageTest):
    """A report of ResNet-18 in training, made once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = cls.folder / "report.html"

    def setUp(self):
        if not self.path.exists():
            self.foretell("report", self.ROOT / "examples/resnet18.onnx",
                          "--batch", 8, "--mode", "training", "--optimizer",
                          "adam", "--out", self.path)

    def test_has_its_sections_at_every_width_and_in_the_dark(self):
        for size in (DESK, PHONE):
            for scheme in ("light", "dark"):
                with self.subTest(width=size["width"], scheme=scheme):
                    page = self.open(self.path, size, scheme)
                    self.expect_sound(page, self.path)
                    found = page.locator("section").evaluate_all(
                        "all => all.map(one => one.getAttribute('aria-label'))")
                    self.assertEqual(found, SECTIONS)

    def test_parts_and_roles_have_the_same_colors(self):
        page = self.open(self.path, DESK, "light")

        def colors(section):
            return page.evaluate(
                """name => Object.fromEntries([...document.querySelectorAll(
                    `section[aria-label="${name}"] .legend li`)].map(row => [
                    row.querySelector('i').nextSibling.textContent,
                    row.querySelector('i').style.background]))""", section)

        parts, roles = colors("Figures"), colors("Memory")
        for part, role in (("parameters", "parameters"), ("gradients", "gradients"),
                           ("optimizer states", "optimizer state"),
                           ("activations", "saved for the backward pass")):
            if part in parts and role in roles:
                self.assertEqual(parts[part], roles[role])
        self.assertEqual(parts["parameters"], roles["parameters"])

    def test_is_small(self):
        self.assertLess(self.path.stat().st_size, 1_000_000)

    def test_shows_the_figures_that_predict_prints(self):
        (answer,) = json.loads(self.foretell(
            "predict", self.ROOT / "examples/resnet18.onnx", "--batch", 8,
            "--mode", "training", "--optimizer", "adam", "--json"))["results"]
        page = self.open(self.path)
        self.assertEqual(page.locator(".card b").first.inner_text(),
                         f"{answer['memory']['total_mib']:,.0f} MiB")
        self.assertEqual(page.locator("ul.warnings li").all_inner_texts(),
                         answer["warnings"])

    def test_tells_by_keys_what_is_alive(self):
        page = self.open(self.path)
        readout = page.locator(".readout")
        page.locator("input[type=range]").focus()
        page.keyboard.press("Home")
        self.assertIn("Operator 0, conv2d (forward)", readout.inner_text())
        page.keyboard.press("ArrowRight")
        self.assertIn("Operator 1, relu (forward)", readout.inner_text())
        self.assertEqual(readout.locator("tbody tr").count(), 15)

    def test_tells_by_the_pointer_what_is_alive(self):
        page = self.open(self.path)
        picture = page.locator("svg[aria-label='Memory over the step']")
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2,
                        box["y"] + box["height"] * 0.85)
        self.assertIn("Under the pointer: ",
                      page.locator("section[aria-label=Memory]").inner_text())
        self.expect_sound(page, self.path)

    def test_goes_into_modules_and_back_by_keys(self):
        page = self.open(self.path)
        map_of = page.locator(".treemap")
        map_of.locator("button[aria-label^='blocks:']").focus()
        page.keyboard.press("Enter")
        self.assertEqual(
            map_of.locator("button[aria-label^='blocks.0:']").count(), 1)
        map_of.locator("button").first.focus()
        page.keyboard.press("Escape")
        self.assertEqual(
            map_of.locator("button[aria-label^='blocks:']").count(), 1)

    def test_shows_a_kernel_under_the_pointer(self):
        page = self.open(self.path)
        dots = page.locator("svg[aria-label='Roofline'] [aria-label=dot] circle")
        self.assertGreater(dots.count(), 10)
        dots.first.scroll_into_view_if_needed()
        dots.first.hover(force=True)
        tip = page.locator("svg[aria-label='Roofline'] [aria-label=tip]")
        self.assertIn("of GPU time", tip.text_content())

    def test_switches_to_the_dark_and_back(self):
        page = self.open(self.path)
        color = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(color)
        page.locator("button.theme").click()
        self.assertNotEqual(page.evaluate(color), light)
        page.locator("button.theme").click()
        self.assertEqual(page.evaluate(color), light)

    def test_sorts_a_table(self):
        page = self.open(self.path)
        page.locator("details summary").first.click()
        table = page.locator("details table").first
        table.get_by_role("button", name="parameters").click()
        self.assertTrue(
            table.locator("tbody tr").first.inner_text().startswith("blocks."))


class Others(PageTest):

    def test_names_of_strangers_stay_text(self):
        model = self.folder / "net.onnx"
        model.write_bytes(hostile_model())
        path = self.folder / "hostile.html"
        self.foretell("report", model, "--out", path)
        page = self.open(path)
        self.expect_sound(page, path)
        self.assertEqual(page.locator("img").count(), 0)
        self.assertTrue(page.title().endswith("net.onnx"))
        text = page.locator("main").inner_text()
        self.assertIn("<img src=x", text)
        self.assertNotIn("\u202e", text)

    def test_predict_writes_the_same_page_without_batches(self):
        path = self.folder / "predict.html"
        out = self.foretell("predict", self.ROOT / "examples/resnet18.onnx",
                            "--batch", 8, "--html", path)
        self.assertIn("smallest MIG slice", out)
        page = self.open(path)
        self.expect_sound(page, path)
        self.assertEqual(page.locator("section[aria-label=Kernels]").count(), 1)
        self.assertEqual(
            page.locator("section[aria-label='Batch size']").count(), 0)

    def test_predict_puts_several_answers_beside_each_other(self):
        path = self.folder / "several.html"
        self.foretell("predict", self.ROOT / "examples/resnet18.onnx",
                      self.folder / "none.onnx", "--batch", "1,8", "--html",
                      path, status=3)
        page = self.open(path)
        self.expect_sound(page, path)
        self.assertEqual(page.locator("section tbody tr").count(), 2)
        self.assertEqual(page.locator("svg").count(), 3)
        self.assertIn("none.onnx",
                      page.locator("section[aria-label=Failed]").inner_text())


if __name__ == "__main__":
    main(sys.modules[__name__])
