#!/usr/bin/env python3
"""`run --expect` and `test-case` compare alike: the same verdict, the same words, the same flags.

  expect_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

DEPUTY = None
ONES = [1, 1, 1, 1, 1, 1]


class Expect(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def deputy(self, *arguments):
        return subprocess.run([str(DEPUTY), *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})  # fmt: skip

    def both(self, model, a, b, y, *flags):
        """(status, what is said about y) of each command; y is a TensorProto."""
        case = self.scratch / "case"
        shutil.rmtree(case, ignore_errors=True)
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        (case / "model.onnx").write_bytes(model)
        for name, content in (("input_0", a), ("input_1", b), ("output_0", y)):
            (data / f"{name}.pb").write_bytes(content)
        tested = self.deputy("test-case", case, *flags)
        ran = self.deputy("run", case / "model.onnx", "--input", f"a={data}/input_0.pb", "--input",
                          f"b={data}/input_1.pb", "--expect", f"y={data}/output_0.pb", *flags)  # fmt: skip
        said = re.match(r"(pass|fail)  case  (?:test_data_set_0 'y': )?(.*)", tested.stdout)
        shown = re.search(r"(?m)^(match y: agrees with \S+,|mismatch y:) (.*)$", ran.stdout)
        self.assertTrue(said and shown, tested.stdout + tested.stderr + ran.stdout + ran.stderr)
        self.assertEqual((tested.returncode, said[2]), (ran.returncode, shown[2]))
        return ran.returncode, shown[2]

    def sums(self, wanted, *flags, a=ONES, dtype=None):
        tensors = [onnx_bytes.tensor(values, (2, 3)) for values in (a, ONES)]
        y = dtype or onnx_bytes.tensor(wanted, (2, 3))
        return self.both(onnx_bytes.add_model(), *tensors, y, *flags)

    def test_AMatch(self):
        self.assertEqual(self.sums([2] * 6), (0, "max |d| 0"))

    def test_AMismatchIsDescribedAlike(self):
        status, said = self.sums([2, 2, 2, 2, 3, 2.5])
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^2 of 6 elements differ, worst at \[1,1\]: got 2, want 3, \|d\| 1, allowed 0\.003")

    def test_ASmallElementBesideALargeOneIsHeldToTheLargestMagnitude(self):
        self.assertEqual(self.sums([1e6 + 1, 2.5, 2, 2, 2, 2], a=[1e6, 1, 1, 1, 1, 1]), (0, "max |d| 0.5"))

    def test_FlagsAreTheSame(self):
        self.assertEqual(self.sums([2.5] * 6)[0], 1)
        for flags in (["--rtol", "0.3"], ["--atol", "0.6"], ["--atol-scale", "0.3"]):
            self.assertEqual(self.sums([2.5] * 6, *flags)[0], 0, flags)
        helps = [self.deputy(command, "--help").stdout for command in ("run", "test-case")]
        for flag in ("--rtol", "--atol", "--atol-scale", "--outliers"):
            one, other = (re.search(rf"(?m)^  {flag} .*(?:\n {{10,}}.*)*", text)[0] for text in helps)
            self.assertEqual(one, other)

    def test_FloatsAreComparedInTheTypeOfTheFile(self):
        doubles = onnx_bytes.integer_tensor(11, struct.pack("<6d", *[2] * 6), (2, 3))
        self.assertEqual(self.sums(None, dtype=doubles), (0, "max |d| 0, 'y' compared as float64"))

    def test_ARawFileOfAnotherSizeNamesTheBatchThatWasAssumed(self):
        model, wanted = self.scratch / "open.onnx", self.scratch / "y.raw"
        model.write_bytes(onnx_bytes.add_model(shape=("rows", 3)))
        wanted.write_bytes(struct.pack("<6f", *[2] * 6))
        done = self.deputy("run", model, "--expect", f"y={wanted}")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"error: .*y\.raw: .*; assuming rows=1; override with --shape a=1x3")

    def test_AnOutputOfAnotherShapeIsAMismatch(self):
        model = onnx_bytes.add_model(shape=("rows", 3))
        a, b = (onnx_bytes.tensor(ONES, (2, 3)) for _ in "ab")
        y = onnx_bytes.tensor([2] * 9, (3, 3))
        self.assertEqual(self.both(model, a, b, y), (1, "got float32 [2,3], want float32 [3,3]"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", type=Path, required=True)
    known, rest = parser.parse_known_args()
    DEPUTY = known.deputy.resolve(strict=True)
    unittest.main(argv=[sys.argv[0], *rest])
