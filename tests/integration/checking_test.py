#!/usr/bin/env python3
"""The checking mode as a user turns it on: by the configuration or by the environment, and not otherwise.

  checking_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
WRITTEN = "execute: input 0: it was written to"


class Checking(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        shutil.copy(Path(ARGS.fixtures) / "writes_inputs.so", self.scratch)
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "m.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"])], [x], [y]))
        self.config = self.scratch / "c.yaml"
        self.config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}]}}\n"
                               "delegates: [{name: writes_inputs, required: true}]\n")  # fmt: skip

    def run_model(self, *arguments, check=None):
        environment = {name: value for name, value in os.environ.items() if name != "DEPUTY_CHECK"}
        if check is not None:
            environment["DEPUTY_CHECK"] = check
        return subprocess.run([ARGS.deputy, "run", self.model, "--config", self.config, *arguments], env=environment,
                              capture_output=True, text=True, timeout=100)  # fmt: skip

    def test_R202_a_plugin_that_no_lock_lists_is_loaded_with_a_warning(self):
        warning = "writes_inputs.so: runs in this process, although no lock lists it, because "
        self.assertNotIn("runs in this process", self.run_model().stderr)
        for reason, how in (("its calls are checked", {"check": "1"}), ("its calls are checked", {"set": "debug.check=true"}),
                            ("of 'trust: any'", {"set": "plugins.trust=any"})):  # fmt: skip
            arguments = ["--set", how.pop("set")] if "set" in how else []
            self.assertIn(warning + reason, self.run_model(*arguments, **how).stderr)
            listed = subprocess.run(["sha256sum", "writes_inputs.so"], cwd=self.scratch, capture_output=True, check=True)
            (self.scratch / "SHA256SUMS").write_bytes(listed.stdout)
            self.assertNotIn("runs in this process", self.run_model(*arguments, **how).stderr)
            (self.scratch / "SHA256SUMS").unlink()

    def test_it_is_off_unless_asked_for(self):
        for check in (None, "0"):
            done = self.run_model(check=check)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("check:", done.stderr)

    def test_the_configuration_turns_it_on(self):
        done = self.run_model("--set", "debug.check=true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(WRITTEN, done.stderr)

    def test_the_environment_turns_it_on(self):
        done = self.run_model(check="1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(WRITTEN, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
