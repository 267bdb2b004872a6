"""What tests of the installed program share: a folder of their own for each test, and the command."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path


def run_program(program, *arguments, env=None):
    """With an output that depends neither on the language of the user nor on the terminal."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(env or {})}
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, env=environment,
                          timeout=300)  # fmt: skip


def variables_of(script):
    """The environment after a shell has read the script."""
    said = subprocess.run(["sh", "-c", f". {script} && env -0"], capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in said.split("\0") if "=" in line)


class ScratchCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def file(self, name, content):
        """A file of the folder, whose own folders are made."""
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


class PluginsCase(ScratchCase):
    """With a folder for plugins below it."""

    def setUp(self):
        super().setUp()
        self.plugins = self.scratch / "plugins"
        self.plugins.mkdir()
