#!/usr/bin/env python3
"""Policy `cost` with the simulated NPU: its clock decides the placement, and the reasons say so.

  cost_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
LENGTH = 6


class Cost(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        # Element-wise nodes on 64 KiB: about 13 us each on the CPU, and 19 us or 5 us on the NPU, by its clock.
        x, y = (onnx_bytes.value_info(name, (128, 128)) for name in "xy")
        values = ["x", *(f"v{i}" for i in range(1, LENGTH)), "y"]
        nodes = [
            onnx_bytes.node("Relu" if i % 2 == 0 else "Tanh", [values[i]], [values[i + 1]], f"n{i}") for i in range(LENGTH)
        ]
        self.model = self.scratch / "chain.onnx"
        self.model.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        self.config = self.scratch / "c.yaml"
        self.config.write_text(
            "version: 1\nplugins: {paths: [$deputy/plugins]}\ncache: {dir: off}\n"
            "delegates: [{name: npu0, delegate: sim_npu}]\n"
        )

    def deputy(self, *arguments, status=0):
        command = [ARGS.deputy, *map(str, arguments), "--config", self.config, "--set", "placement.policy=cost"]
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def report(self, *settings):
        arguments = [part for setting in settings for part in ("--set", setting)]
        return json.loads(self.deputy("partition", self.model, "--json", *arguments).stdout)

    def owners(self, *settings):
        return [node["delegate"] for node in self.report(*settings)["nodes"]]

    def test_the_clock_of_the_npu_changes_the_placement(self):
        self.assertEqual(self.owners("delegates.npu0.options.frequency=low"), ["cpu"] * LENGTH)
        self.assertEqual(self.owners("delegates.npu0.options.frequency=extreme"), ["npu0"] * LENGTH)

    def test_the_reason_names_both_costs_and_the_clock(self):
        for frequency, loser, pattern in (
            ("low", "npu0", r"^[\d.]+ us here at 300 MHz, [\d.]+ us on cpu, with transfers$"),
            ("extreme", "cpu", r"^[\d.]+ us here, [\d.]+ us on npu0 at 1200 MHz, with transfers$"),
        ):
            report = self.report(f"delegates.npu0.options.frequency={frequency}")
            for node in report["nodes"]:
                refusal = next(it for it in node["refusals"] if it["delegate"] == loser)
                self.assertEqual(refusal["reason"], "more expensive", node)
                self.assertRegex(refusal["detail"], pattern)

    def test_a_model_runs_as_it_was_placed(self):
        self.deputy("run", self.model, "--set", "delegates.npu0.options.frequency=extreme")

    def test_rules_and_required_delegates_are_stronger_than_costs(self):
        low = "delegates.npu0.options.frequency=low"
        self.assertEqual(self.owners(low, "delegates.npu0.required=true"), ["npu0"] * LENGTH)
        self.assertEqual(self.owners(low, "fallback=none"), ["npu0"] * LENGTH)
        self.assertEqual(self.owners(low, "placement.rules=[{ops: [Relu, Tanh], to: npu0}]"), ["npu0"] * LENGTH)
        high = "delegates.npu0.options.frequency=extreme"
        self.assertEqual(self.owners(high, "placement.rules=[{nodes: n5, to: cpu}]"), ["npu0"] * 5 + ["cpu"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
