#!/usr/bin/env python3
"""deputy run --timeout: in a plugin that heeds its deadline, in one that does not, and in a step of the CPU.

  timeout_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import make_models
from scratch import ScratchCase

ARGS = None


class Timeout(ScratchCase):
    def run_model(self, model, *arguments, plugin=None):
        path = self.scratch / "m.onnx"
        path.write_bytes(model)
        if plugin:
            shutil.copy(Path(ARGS.fixtures) / f"{plugin}.so", self.scratch)
            config = self.scratch / "c.yaml"
            config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}]}}\n"
                              f"delegates: [{{name: {plugin}, required: true}}]\n")  # fmt: skip
            arguments = ("--config", config, *arguments)
        return subprocess.run([ARGS.deputy, "run", path, *arguments], capture_output=True, text=True, timeout=100)

    def test_a_plugin_that_outlives_it_fails_the_run_and_is_named(self):
        done = self.run_model(make_models.relu(), "--timeout", "20ms", plugin="outlives_deadline")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("delegate 'outlives_deadline' did not stop: deadline exceeded by", done.stderr)
        self.assertIn("the relu", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_plugin_that_heeds_it_ends_the_run(self):
        done = self.run_model(make_models.relu(), "--timeout", "20ms", plugin="heeds_deadline")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("gave up at the deadline", done.stderr)
        self.assertNotIn("did not stop", done.stderr)

    def test_it_ends_a_step_of_the_cpu(self):
        done = self.run_model(make_models.long_pool(), "--timeout", "20ms")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("the run did not end in time", done.stderr)
        self.assertIn("the pool", done.stderr)

    def test_without_one_nothing_is_limited(self):
        for plugin in ("outlives_deadline", "heeds_deadline"):
            done = self.run_model(make_models.relu(), plugin=plugin)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_run_in_time_is_as_without(self):
        done = self.run_model(make_models.relu(), "--timeout", "1min")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_needs_a_unit(self):
        done = self.run_model(make_models.relu(), "--timeout", "500")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--timeout: '500' is not a duration such as 500ms or 1.5s: the unit is missing", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
