#!/usr/bin/env python3
"""Tests of the scripts that judge and document: numbers worked out by hand."""

import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / "published"), str(SCRIPTS / "generate")]

import check_corpus  # noqa: E402
import update_onnx_operators_doc as page  # noqa: E402

TRUTH = {"macs_batch2": "1000", "initializer_elements": "500",
         "output_batch2": "2x10"}


def result(batch, macs, parameters=500):
    return {"batch": batch, "parameters": parameters,
            "static_features": {"macs": macs},
            "outputs": [{"shape": [batch, 10]}]}


def exception(attention, per_pass):
    return {"uncounted_attention_macs": str(attention),
            "macs_per_pass": str(per_pass), "reason": "because"}


def corpus(results):
    return check_corpus.Corpus("onnx", {"net": TRUTH}, {"net": results}, [])


class CheckCorpus(unittest.TestCase):

    def test_scales_the_truth_with_the_batch(self):
        self.assertEqual(check_corpus.expected_macs(TRUTH, 8, None), 4000)

    def test_puts_uncounted_attention_back(self):
        row = exception(200, 0)
        self.assertEqual(check_corpus.expected_macs(TRUTH, 1, row), 600)

    def test_counts_work_per_pass_once(self):
        row = exception(0, 100)
        self.assertEqual(check_corpus.expected_macs(TRUTH, 2, row), 1000)
        self.assertEqual(check_corpus.expected_macs(TRUTH, 8, row), 3700)

    def test_says_nothing_where_all_agrees(self):
        found = check_corpus.compare(corpus([result(8, 4010)]),
                                     {"net": TRUTH}, {})
        self.assertEqual(found, ([], []))

    def test_finds_wrong_macs_parameters_and_shapes(self):
        wrong = result(8, 4100, parameters=502)
        wrong["outputs"][0]["shape"] = [8, 11]
        explained, unexplained = check_corpus.compare(
            corpus([wrong]), {"net": TRUTH}, {})
        self.assertEqual(explained, [])
        self.assertEqual(len(unexplained), 3)

    def test_wants_an_exception_to_explain_exactly(self):
        rows = {"net": exception(100, 0)}
        right, slightly_off = result(8, 4400), result(8, 4410)
        explained, unexplained = check_corpus.compare(
            corpus([right, slightly_off]), {"net": TRUTH}, rows)
        self.assertEqual(len(explained), 1)
        self.assertEqual(len(unexplained), 1)

    def test_finds_an_exception_that_is_no_longer_one(self):
        rows = {"net": exception(100, 0)}
        self.assertEqual(
            len(check_corpus.stale_exceptions(corpus([result(8, 4000)]), rows)),
            1)
        self.assertEqual(
            check_corpus.stale_exceptions(corpus([result(8, 4400)]), rows), [])

    def test_misses_a_network_without_its_results(self):
        self.assertEqual(len(check_corpus.failures(corpus([result(1, 500)]))),
                         1)
        both = [result(1, 500), result(8, 4000)]
        self.assertEqual(check_corpus.failures(corpus(both)), [])


class OperatorsPage(unittest.TestCase):

    def test_joins_adjoining_versions(self):
        self.assertEqual(page.versions_text([(7, 12), (13, None)]), "7+")
        self.assertEqual(page.versions_text([(1, 1), (7, 12)]), "1, 7-12")
        self.assertEqual(page.versions_text([]), "none")

    def test_counts_expanded_cases_for_the_operator_they_came_from(self):
        cases = [
            {"group": "node", "name": "test_elu", "operators": ["Elu"],
             "outcome": "pass"},
            {"group": "node", "name": "test_elu_expanded_ver18",
             "operators": ["Exp", "Where"], "outcome": "refused"},
            {"group": "simple", "name": "test_net", "operators": ["Elu"],
             "outcome": "pass"}]
        counts = page.count_by_operator(cases)
        self.assertEqual(counts, {"Elu": {"pass": 1, "refused": 1}})

    def test_gathers_refused_cases_by_reason(self):
        cases = [
            {"name": "test_split", "outcome": "refused",
             "message": "ai.onnx::StringSplit at version 20"},
            {"name": "test_encode", "outcome": "refused",
             "message": "ai.onnx.ml::LabelEncoder at version 4"},
            {"name": "test_elu", "outcome": "pass", "message": ""}]
        rows = page.refusal_table(cases)[5:]
        self.assertEqual(len(rows), 1)
        self.assertIn("| 2 | `test_split`, `test_encode` |", rows[0])

    def test_wants_a_reason_for_every_refusal(self):
        with self.assertRaises(SystemExit):
            page.reason_of({"name": "test_x", "message": "no such thing"})


if __name__ == "__main__":
    unittest.main()
