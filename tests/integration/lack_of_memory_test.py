#!/usr/bin/env python3
"""Each single allocation of the program fails once, from loading a model to the end: the program gives the right answer
or an error, and no signal ends it.

The command line's library ends the program while commands are declared; so this begins when the command has been read.

  lack_of_memory_test.py --deputy build/release/bin/deputy --failing-malloc FILE.so [unittest's arguments]
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx_bytes

ARGS = None
# The dynamic loader ends a program that has no memory for the thread-local data of a library.
LOADER_ENDS = ("out of memory", "cannot allocate memory for thread-local data: ABORT")


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
        count = self.scratch / f"count{failing}"
        environment = {**os.environ, "LD_PRELOAD": ARGS.failing_malloc, "FAILING_MALLOC_COUNT": str(count)}
        environment.update({"HOME": str(self.scratch), "XDG_CONFIG_HOME": str(self.scratch / "none")})
        if failing is not None:
            environment["FAILING_MALLOC"] = str(failing)
        done = subprocess.run([ARGS.deputy, "run", model, "--config", config, "--input", f"x={self.scratch}/x.raw",
                               "--expect", f"y={self.scratch}/y.raw"], env=environment, capture_output=True,
                              text=True, timeout=100)  # fmt: skip
        return done, int(count.read_text()) if failing is None else None

    def sweep(self, model, status, stride=1):
        _, first = self.run_model(model, self.scratch / "missing.yaml")
        done, last = self.run_model(model, self.config)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertGreater(last - first, 50, "nothing is swept")
        numbers = range(first - 20, last, stride)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ends = pool.map(lambda number: self.run_model(model, self.config, number)[0], numbers)
            errors = sum(self.is_error(done, number) for number, done in zip(numbers, ends))
        self.assertGreater(errors, 50 // stride)

    def is_error(self, done, number):
        if done.returncode == 127 and done.stderr.strip() in LOADER_ENDS:
            return True
        with self.subTest(number=number):
            self.assertIn(done.returncode, (0, 1, 2, 3, 4, 5), done.stderr)
            self.assertIn("match" if done.returncode == 0 else "deputy: error: ", done.stdout + done.stderr)
        return done.returncode != 0

    def test_R147_every_allocation_of_a_run_may_fail(self):
        self.sweep(self.model, 0)

    def test_R147_every_allocation_before_an_error_may_fail(self):
        self.sweep(self.scratch / "missing.dpm", 3)

    def test_R147_allocations_while_the_library_of_onnx_is_opened_may_fail(self):
        self.sweep(self.scratch / "m.onnx", 0, stride=3)

    def test_R147_allocations_while_plugins_are_probed_may_fail(self):
        self.config.write_text("version: 1\ncache: {dir: 'off'}\n"
                               "delegates: [{name: sim_npu, isolation: none}]\ncpu: {threads: 2}\n")
        self.sweep(self.model, 0, stride=5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--failing-malloc", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
