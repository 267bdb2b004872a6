"""A test case that runs one small model with a plugin whose faults are asked for, mostly in a worker process."""

import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ANSWER = struct.pack("<6f", 1, 0, 3, 0, 5, 0)


def processes_with(text):
    """Processes with the text in their command line, beside this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(folder.name)
        except OSError:
            pass
    return found


class FaultRun(unittest.TestCase):
    arguments = None  # deputy: the program; fixtures: the folder of plugins

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.scratch.chmod(0o755)
        self.plugins = self.scratch / "plugins"
        self.plugins.mkdir()
        self.add("misbehaves")
        self.model = self.scratch / "m.onnx"
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y]))
        (self.scratch / "x.raw").write_bytes(struct.pack("<6f", 1, -2, 3, -4, 5, -6))
        (self.scratch / "y.raw").write_bytes(ANSWER)

    def add(self, fixture):
        shutil.copy(Path(self.arguments.fixtures) / f"{fixture}.so", self.plugins)

    def config(self, plugin="misbehaves", cache="auto", isolation="process", more=""):
        path = self.scratch / "c.yaml"
        path.write_text(f"version: 1\nplugins: {{paths: [{self.plugins}]}}\ncache: {{dir: {cache}}}\n"
                        f"delegates: [{{name: {plugin}, isolation: {isolation}{more}}}]\n")  # fmt: skip
        return path

    def command(self, *arguments, config=None):
        return [self.arguments.deputy, "run", self.model, "--config", config or self.config(), "--input", f"x={self.scratch}/x.raw",
                "--expect", f"y={self.scratch}/y.raw", "--rtol", "0", "--atol", "0", *arguments]  # fmt: skip

    def environment(self, **variables):
        names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "FIXTURE_FAULT", "FIXTURE_ONCE", "DEPUTY_CHECK", "TMPDIR")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        none = {"DEPUTY_SYSTEM_CONFIG": ""}
        return {**kept, **none, "HOME": str(self.scratch / "home"), **variables}

    def run_it(self, command, before=None, environment=None):
        done = subprocess.run(command, env=environment or self.environment(), capture_output=True, timeout=100,
                              preexec_fn=before)  # fmt: skip
        done.stdout, done.stderr = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        self.assertEqual(processes_with(str(self.plugins)), [], done.stderr)
        return done

    def right(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("match"), 1, done.stdout)

    def right_or_refused(self, done):
        """Whether the answer is right; otherwise there is an error with a text, and nothing worse."""
        if done.returncode == 0:
            self.right(done)
            return True
        self.assertGreater(done.returncode, 0, done.stdout + done.stderr)
        if done.returncode != 127 or "error while loading shared libraries" not in done.stderr:
            self.assertIn("error: ", done.stderr)
            self.assertIn(done.returncode, (1, 2, 3, 4, 5), done.stderr)
        return False
