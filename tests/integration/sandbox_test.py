#!/usr/bin/env python3
"""A plugin in a worker process can do nothing beyond computing: the fixture "escapes" tries it.

  sandbox_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
# Of the attempts of the fixture, those that succeed for an ordinary user on any system without a sandbox.
ORDINARY = {
    "reads_file", "reads_by_link", "reads_passwords", "writes_file", "cuts_file", "makes_file", "makes_folder",
    "makes_link", "renames_file", "removes_file", "changes_mode", "changes_owner", "changes_time", "connects", "listens",
    "opens_local_socket", "executes", "forks", "signals_host", "signals_all", "signals_by_descriptor",
    "signals_by_owner", "outlives_host", "shares_memory", "shares_semaphore", "shares_queue",
}  # fmt: skip
# Those that Landlock alone stops.
OF_FILES = {
    "reads_file", "reads_by_link", "reads_passwords", "writes_file", "makes_file", "makes_folder", "makes_link",
    "renames_file", "removes_file",
}  # fmt: skip


class Sandbox(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        (self.scratch / "plugins").mkdir()
        (self.scratch / "private").mkdir()
        (self.scratch / "private" / "secret").write_text("secret")
        for fixture in ("escapes", "good"):
            shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", self.scratch / "plugins")
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "m.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y]))

    def deputy(self, command, *arguments, sandbox="true"):
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}/plugins], sandbox: {sandbox}}}\n"
                          "cache: {dir: 'off'}\nlog: {level: debug}\n"
                          "delegates: [{name: escapes, isolation: process, required: true}]\n")  # fmt: skip
        environment = {**os.environ, "FIXTURE_ESCAPE": str(self.scratch / "private")}
        done = subprocess.run([ARGS.deputy, command, *arguments, "--config", config], env=environment,
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def escapes(self, sandbox):
        """Names of the attempts that succeeded, of all processes; checks that the plugin tried in each."""
        lines = re.findall(r"escapes in (load|run): (\w+)", self.deputy("run", self.model, sandbox=sandbox).stderr)
        self.assertIn(("load", "tried"), lines)
        self.assertIn(("run", "tried"), lines)
        return {(stage, name) for stage, name in lines if name != "tried"}

    def level(self):
        checks = json.loads(self.deputy("doctor", "--json").stdout)["checks"]
        return next(check["detail"] for check in checks if check["subject"] == "sandbox")

    def test_a_plugin_in_the_sandbox_can_do_none_of_it(self):
        level = self.level()
        self.assertIn("seccomp", level)
        allowed = {name for _, name in self.escapes("true")}
        self.assertEqual(allowed - (set() if "Landlock" in level else OF_FILES), set())
        self.assertEqual((self.scratch / "private" / "secret").read_text(), "secret")

    def test_without_the_sandbox_it_has_the_rights_of_the_user(self):
        allowed = self.escapes("false")
        self.assertEqual(ORDINARY - {name for stage, name in allowed if stage == "run"}, set())

    def test_the_probe_is_in_the_sandbox_as_well(self):
        lines = re.findall(r"escapes in load: (\w+)", self.deputy("plugins").stderr)
        self.assertEqual(set(lines) - ({"tried"} if "Landlock" in self.level() else {"tried", *OF_FILES}), set())
        self.assertIn("reads_file", self.deputy("plugins", sandbox="false").stderr)

    def test_the_rights_of_a_plugin_are_shown(self):
        listing = json.loads(self.deputy("plugins", "--json").stdout)
        self.assertEqual({plugin["sandbox"] for plugin in listing["plugins"]}, {"cpu"})
        listing = json.loads(self.deputy("plugins", "--json", sandbox="false").stdout)
        self.assertEqual({plugin["sandbox"] for plugin in listing["plugins"]}, {"user"})
        self.assertIn("sandbox: cpu", self.deputy("plugins", "--why").stdout)
        self.assertRegex(self.deputy("plugins", "escapes", sandbox="false").stdout, "sandbox +none, the rights of the user")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
