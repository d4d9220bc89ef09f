#!/usr/bin/env python3
"""Pages of max-batch, mig pack, compare, dataset stats, train, evaluate and
compare-networks.

    others_test.py BINARY ROOT [unittest arguments]
"""

import json
import sys

from chromium_page import DESK, PHONE, PageTest, main

TRAINING = ("--hidden", 8, "--graph-blocks", 1, "--head-blocks", 1,
            "--learning-rate", "3e-3", "--threads", 1, "--batch-size", 4)


class Sizing(PageTest):

    def test_max_batch_shows_what_it_tried(self):
        path = self.folder / "max-batch.html"
        answer = self.foretell("max-batch", self.ROOT / "examples/resnet18.onnx",
                               "--profile", "1g.5gb", "--html", path).strip()
        page = self.open(path)
        self.expect_sound(page, path)
        self.assertEqual(page.locator("main > p b").last.inner_text(), answer)
        rows = page.locator("tbody tr")
        fitting = [row for row in rows.all_inner_texts()
                   if row.split("\t")[4] == "✓"]
        self.assertEqual(fitting[-1].split("\t")[0].replace(",", ""), answer)

    def test_mig_pack_draws_every_instance(self):
        path = self.folder / "pack.html"
        self.foretell("mig", "pack", "--job", "<i>detector</i>=9000", "--job",
                      "ranker=3500", "--html", path)
        for size in ({"width": 1200, "height": 900}, PHONE):
            page = self.open(path, size)
            self.expect_sound(page, path)
            slots = page.locator(".slots .slot").all_inner_texts()
            self.assertEqual(len(slots), 2)
            self.assertIn("<i>detector</i>", "".join(slots))


    def test_compare_shows_devices_side_by_side(self):
        prices = self.folder / "prices.csv"
        prices.write_text("device,usd_per_hour\na30,0.5\n")
        path = self.folder / "compare.html"
        text = self.foretell("compare", self.ROOT / "examples/resnet18.onnx",
                             "--batch", 1500, "--devices", "a30,rtx-3060,h100",
                             "--prices", prices, "--html", path)
        for size in (DESK, PHONE):
            page = self.open(path, size)
            self.expect_sound(page, path)
            labels = page.locator("figure svg[aria-label]").evaluate_all(
                "all => all.map(one => one.getAttribute('aria-label'))")
            self.assertEqual(labels, ["Memory", "Latency", "Energy", "Price"])
            rows = [row.split("\t") for row in
                    page.locator("tbody tr").all_inner_texts()]
            printed = [line.split() for line in text.splitlines()[2:]]
            self.assertEqual([(row[1], row[4]) for row in rows],
                             [(line[0], "✓" if line[3] == "yes" else "✗")
                              for line in printed])
            self.assertEqual([row[4] for row in rows], ["✓", "✓", "✗"])
            self.assertEqual((rows[0][1], rows[0][7]), ("a30", "0.5"))

    def test_compare_shows_runtimes_side_by_side(self):
        path = self.folder / "runtimes.html"
        self.foretell("compare", self.ROOT / "examples/resnet18.onnx", "--batch", 8,
                      "--runtimes", "eager,tensorrt", "--devices", "a30",
                      "--html", path)
        for size in (DESK, PHONE):
            page = self.open(path, size)
            self.expect_sound(page, path)
            rows = [row.split("\t") for row in
                    page.locator("tbody tr").all_inner_texts()]
            self.assertEqual([row[1] for row in rows], ["a30, eager", "a30, tensorrt"])
            self.assertEqual(rows[0][7], "1")

    def test_diff_says_units_and_changes_as_the_command(self):
        path = self.folder / "diff.html"
        text = self.foretell("diff", "zoo:resnet18", "zoo:resnet50", "--batch", 8,
                             "--html", path)
        page = self.open(path)
        self.expect_sound(page, path)
        rows = page.locator("table").first.locator("tbody tr").all_inner_texts()
        shown = {row.split("\t")[0]: row.split("\t")[3:] for row in rows}
        self.assertEqual(shown["memory"], ["MiB", "+10.4 %"])
        self.assertIn("+10.4 %", text)
        self.assertEqual(shown["latency"][0], "ms")
        # A part of the memory is told from the count by its blanks.
        self.assertEqual(shown["parameters"][0], "")
        self.assertEqual(shown["\u00a0" * 4 + "parameters"][0], "MiB")
        self.assertEqual(shown["\u00a0" * 4 + "inputs"], ["MiB", ""])


class Learning(PageTest):
    """Pages around a dataset of ResNet-18 at 24 batch sizes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dataset = cls.folder / "d.sqlite"

    def setUp(self):
        if self.dataset.exists():
            return
        batches = ",".join(map(str, range(1, 25)))
        self.foretell("dataset", "generate",
                      self.ROOT / "examples/resnet18.onnx", "--batch", batches,
                      "--out", self.dataset)
        self.foretell("dataset", "simulate", self.dataset)
        self.foretell("dataset", "split", self.dataset, "--name", "mine")

    def charts(self, path):
        """Labels of the charts of a sound page, and all of its axes."""
        page = self.open(path)
        self.expect_sound(page, path)
        labels = page.locator("figure svg[aria-label]").evaluate_all(
            "all => all.map(one => one.getAttribute('aria-label'))")
        for name in ("x-axis label", "y-axis label"):
            named = page.locator(f"figure svg [aria-label='{name}']").count()
            self.assertGreaterEqual(named, len(labels) - 1, name)
        return page, labels

    def test_stats_have_named_axes_and_units(self):
        path = self.folder / "stats.html"
        self.foretell("dataset", "stats", self.dataset, "--html", path)
        page, labels = self.charts(path)
        self.assertIn("Points by family", labels)
        self.assertIn("latency (ms)", labels)
        self.assertIn("latency (ms) →", page.locator("main").inner_text())
        page.locator("svg[aria-label='latency (ms)'] [aria-label=rect] rect"
                     ).first.hover(force=True)
        tip = page.locator("svg[aria-label='latency (ms)'] [aria-label=tip]")
        self.assertIn(": ", tip.text_content())

    def train(self, name, *flags):
        self.foretell("train", "--dataset", self.dataset, "--split", "mine",
                      "--out", self.folder / name, "--epochs", 3, *TRAINING,
                      *flags)
        return self.folder / name

    def test_training_has_its_curves(self):
        folder = self.train("run", "--find-lr")
        page, labels = self.charts(folder / "curves.html")
        self.assertEqual(labels[:2], ["loss", "MAPE of all targets"])
        self.assertIn("learning rate", labels)
        self.assertIn("3 epochs", page.locator("main").inner_text())
        _, labels = self.charts(folder / "learning_rate.html")
        self.assertEqual(labels, ["Loss over the learning rate"])

    def test_evaluation_shows_predictions_beside_labels(self):
        path = self.folder / "evaluation.html"
        self.foretell("evaluate", "--dataset", self.dataset, "--split", "none",
                      "--analytic", "--html", path)
        page, labels = self.charts(path)
        self.assertIn("latency: prediction against label", labels)
        dots = page.locator("svg[aria-label^='latency: prediction'] circle")
        self.assertEqual(dots.count(), 24)

    def test_comparison_shows_networks(self):
        folder = self.folder / "comparison"
        self.foretell("compare-networks", "--dataset", self.dataset, "--split", "mine",
                      "--out", folder, "--networks", "mlp,gcn", "--seeds", "0,1",
                      "--epochs", 1, *TRAINING)
        page, labels = self.charts(folder / "comparison.html")
        self.assertIn("All targets", labels)
        networks = json.loads((folder / "comparison.json").read_text())
        text = page.locator("table").inner_text()
        for network in networks["networks"]:
            self.assertIn(network["network"], text)


if __name__ == "__main__":
    main(sys.modules[__name__])
