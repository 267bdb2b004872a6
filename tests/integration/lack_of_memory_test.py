#!/usr/bin/env python3
"""Each single allocation of the program fails once, from loading a model to the end: the program gives the right answer
or an error, and no signal ends it.

The command line's library ends the program while commands are declared, and that of ONNX while it is opened; so this
begins when the command has been read, and the model is one of Deputy's own format.

  lack_of_memory_test.py --deputy build/release/bin/deputy --failing-malloc FILE.so [unittest's arguments]
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None


class LackOfMemory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.config = self.scratch / "c.yaml"
        self.config.write_text("version: 1\ncache: {dir: 'off'}\ndelegates: []\ncpu: {threads: 2}\n")
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        nodes = [onnx_bytes.node("Relu", ["x"], ["m"], "first"), onnx_bytes.node("Neg", ["m"], ["y"], "second")]
        onnx = self.scratch / "m.onnx"
        onnx.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        (self.scratch / "x.raw").write_bytes(struct.pack("<6f", 1, -2, 3, -4, 5, -6))
        (self.scratch / "y.raw").write_bytes(struct.pack("<6f", -1, 0, -3, 0, -5, 0))
        self.model = self.scratch / "m.dpm"
        subprocess.run([ARGS.deputy, "convert", onnx, "-o", self.model], check=True, capture_output=True)

    def run_model(self, model, config, failing=None):
        """Exit status, text and the number of allocations."""
        count = self.scratch / "count"
        count.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": ARGS.failing_malloc, "FAILING_MALLOC_COUNT": str(count)}
        environment.update({"HOME": str(self.scratch), "XDG_CONFIG_HOME": str(self.scratch / "none")})
        if failing is not None:
            environment["FAILING_MALLOC"] = str(failing)
        done = subprocess.run([ARGS.deputy, "run", model, "--config", config, "--input", f"x={self.scratch}/x.raw",
                               "--expect", f"y={self.scratch}/y.raw"], env=environment, capture_output=True,
                              text=True, timeout=100)  # fmt: skip
        return done, int(count.read_text()) if count.exists() else None

    def sweep(self, model, status):
        _, first = self.run_model(model, self.scratch / "missing.yaml")
        done, last = self.run_model(model, self.config)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertGreater(last - first, 50, "nothing is swept")
        errors = 0
        for number in range(first - 20, last):
            with self.subTest(number=number, of=last):
                done, _ = self.run_model(model, self.config, number)
                self.assertIn(done.returncode, (0, 1, 2, 3, 4, 5), done.stderr)
                if done.returncode == 0:
                    self.assertIn("match", done.stdout)
                else:
                    self.assertIn("deputy: error: ", done.stderr)
                    errors += 1
        self.assertGreater(errors, 50)

    def test_R147_every_allocation_of_a_run_may_fail(self):
        self.sweep(self.model, 0)

    def test_R147_every_allocation_before_an_error_may_fail(self):
        self.sweep(self.scratch / "missing.dpm", 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--failing-malloc", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
