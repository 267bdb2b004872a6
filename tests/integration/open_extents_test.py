#!/usr/bin/env python3
"""Extents that a model leaves open: what each command assumes of them, says about it, and refuses.

  open_extents_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import json
import sys
import unittest
from pathlib import Path

import cli_test
import onnx_bytes


class OpenExtents(cli_test.Cli):
    """One rule for the commands that need shapes."""

    COMMANDS = (("run",), ("run", "--profile"), ("bench", "--runs", "1"), ("bench", "--runs", "1", "--json"),
                ("profile", "--runs", "1"),
                ("partition",), ("partition", "--json"))  # fmt: skip

    def test_ALeadingBatchIsOneAndSaidSo(self):
        model = self.add_model(shape=("batch", 3))
        for command, *flags in self.COMMANDS:
            with self.subTest(command=command, flags=flags):
                run = cli_test.deputy(command, model, *flags)
                self.check(run, 0)
                self.assertEqual(run.stderr.count("assuming batch=1; override with --shape a=1x3\n"), 1, run.stderr)
                if "--json" in flags:
                    json.loads(run.stdout)

    def test_AnotherOpenExtentIsTwoAndNamesTheFlag(self):
        model = self.add_model(shape=("batch", "width"))
        for command, *flags in self.COMMANDS:
            with self.subTest(command=command, flags=flags):
                self.check(cli_test.deputy(command, model, *flags), 2, r"'a' float32 \[batch,width\]", r"--shape a=1x\?")
                self.check(cli_test.deputy(command, model, *flags, "--shape", "a=2x3"), 0)

    def test_AnErrorThatComesFromTheGuessNamesTheFlag(self):
        # Only a batch of 4 has 12 elements.
        target = onnx_bytes.integer_tensor(7, onnx_bytes.struct.pack("<2q", 2, 6), (2,), "target")
        path = self.file("guess.onnx", onnx_bytes.model(
            [onnx_bytes.node("Reshape", ["x", "target"], ["y"])], [onnx_bytes.value_info("x", ("batch", 3))],
            [onnx_bytes.value_info("y", (2, 6))], initializers=[target]))  # fmt: skip
        for command, *flags in self.COMMANDS:
            with self.subTest(command=command, flags=flags):
                run = cli_test.deputy(command, path, *flags)
                self.assertGreaterEqual(run.returncode, 2, run.stderr)
                self.assertRegex(run.stderr, r"deputy: error: .*; assuming batch=1; override with --shape x=1x3")
                self.check(cli_test.deputy(command, path, *flags, "--shape", "x=4x3"), 0)

    def test_ARawFileOfAnotherBatchNamesTheFlag(self):
        raw = self.file("a.bin", onnx_bytes.struct.pack("<6f", *range(6)))
        model = self.add_model(shape=("batch", 3))
        self.check(cli_test.deputy("run", model, "--input", f"a={raw}"), 2, "a.bin.*--shape a=1x3")
        self.check(cli_test.deputy("run", model, "--input", f"a={raw}", "--shape", "a=2x3"), 0)

    def test_ExpectedFileOfAnotherBatchNamesTheFlag(self):
        y = self.file("y.npy", onnx_bytes.npy(range(6), (2, 3)))
        run = cli_test.deputy("run", self.add_model(shape=("batch", 3)), "--expect", f"y={y}")
        self.check(run, 1)
        self.assertRegex(run.stdout, r"mismatch y: .*\[1,3\].*\[2,3\].*--shape a=1x3")

    def test_InspectNeedsNone(self):
        model = self.add_model(shape=("batch", "width"))
        run = cli_test.deputy("inspect", model)
        self.check(run, 0, r"a +float32 \[batch,width\]")
        self.assertNotIn("assuming", run.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", type=Path, required=True)
    known, rest = parser.parse_known_args()
    cli_test.DEPUTY = known.deputy.resolve(strict=True)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
