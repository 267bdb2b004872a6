#!/usr/bin/env python3
"""The benchmark of operators leaves none out, and its models are what they say."""

import re
import tempfile
import unittest
from pathlib import Path

import operators
from operator_workloads import SMALL, USES, WITHOUT

LIST = Path(__file__).resolve().parents[2] / "sdk" / "schema" / "operators.inc"


class Operators(unittest.TestCase):
    def test_every_operator_of_the_list_is_measured_or_says_why_not(self):
        listed = set(re.findall(r'^DEPUTY_OPERATOR_BEGIN\((\w+), "', LIST.read_text(), re.M))
        self.assertGreater(len(listed), 170)
        self.assertEqual(listed, {use.operator for use in USES} | set(WITHOUT))

    def test_each_has_a_typical_and_an_awkward_shape(self):
        for name in {use.operator for use in USES}:
            self.assertEqual([use.shape for use in USES if use.operator == name], ["typical", "awkward"], name)

    def test_a_claimed_operator_has_a_small_and_a_typical_use_or_is_an_error(self):
        uses = operators.uses_of({"Relu", "Conv"})
        self.assertEqual([use.shape for use in uses if use.operator == "Conv"], ["small", "typical", "awkward"])
        with self.assertRaisesRegex(SystemExit, "no small use of Asinh"):
            operators.uses_of({"Relu", "Asinh"})
        for use in SMALL:
            self.assertIn(use.operator, {typical.operator for typical in USES})

    def test_a_delegate_s_table_marks_what_it_left(self):
        row = {"operator": "Relu", "shape": "small", "onednn": 2000, "cpu": 1000, "ratio": 2.0, "nodes": 0}
        text = operators.delegate_table([row, {**row, "shape": "typical", "nodes": 1}], "onednn")
        self.assertIn("| `Relu` | 2.0\\* | 1.0 | 2.00 | 2.0 | 1.0 | 2.00 |", text)

    def test_the_limit_of_a_group_holds_for_large_tensors_alone(self):
        by_name = {(use.operator, use.shape): use for use in USES}
        self.assertEqual(operators.limit_of(by_name["Relu", "typical"]), 1.5)
        self.assertEqual(operators.limit_of(by_name["ConstantOfShape", "typical"]), 10)
        self.assertEqual(operators.limit_of(by_name["Conv", "typical"]), 10)

    def test_models_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            for use in USES:
                if use.operator in ("Add", "TfIdfVectorizer", "Resize"):
                    self.assertGreater(operators.workload(use, folder).path.stat().st_size, 100)

    def test_a_row_that_is_slow_or_wrong_is_said(self):
        row = {"operator": "Add", "shape": "typical", "limit": 1.5, "ratio": 1.4, "apart": 0.0, "cpu": 14e3, "ort": 10e3,
               "engines": ("cpu", "ort")}  # fmt: skip
        self.assertEqual(operators.verdict(row), "")
        self.assertIn("slower", operators.verdict({**row, "ratio": 1.6}))
        left = {**row, "ratio": 1.6, "engines": ("onednn", "cpu"), "nodes": 0}
        self.assertEqual(operators.verdict(left), "")
        self.assertIn("slower", operators.verdict({**left, "nodes": 1}))
        self.assertIn("apart", operators.verdict({**row, "apart": 0.5}))
        self.assertEqual(operators.verdict({**row, "missing": "ort: has it not"}), "")
        self.assertNotEqual(operators.verdict({**row, "missing": "cpu: error"}), "")


if __name__ == "__main__":
    unittest.main()
