"""Plugins that a test compiles itself, on the header of the fixtures: right ones but for what the test makes of them, and
the tests of them."""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import PluginsCase

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "plugins"
HEADERS = Path(__file__).resolve().parents[2] / "sdk" / "include"


def compile_c(target, text, *flags):
    """A shared object of C text, put in the place of one that may be in use by renaming."""
    source, new = target.with_name(f".{target.name}.c"), target.with_name(f".{target.name}.new")
    source.write_text(text)
    subprocess.run(["cc", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{FIXTURES}", f"-I{HEADERS}",
                    source, "-o", new, "-Wl,--build-id,-z,now", *map(str, flags)],
                   check=True, capture_output=True, text=True)  # fmt: skip
    source.unlink()
    new.rename(target)
    return target


def plugin(folder, name, hooks="", *flags, note="", before=""):
    """folder/name.so: a delegate `name` that runs Relu. `hooks` are macros of minimal.h, one a line; `before` declares
    what they use. The folder is one that the host trusts."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    text = "\n".join(["#define _GNU_SOURCE", '#include "deputy/abi/delegate.h"', before, f'#define FIXTURE_ID "{name}"',
                      f'#define FIXTURE_NOTE_MORE "{note}"', hooks, '#include "minimal.h"', ""])  # fmt: skip
    return compile_c(folder / f"{name}.so", text, *flags)


def library(target, text, *flags):
    """A vendor's library with its name as soname."""
    return compile_c(target, text, "-fvisibility=default", f"-Wl,-soname,{target.name}", *flags)


def lock(folder):
    """Lists every file of the folder, so that its plugins run in the process of the application."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
             for file in sorted(folder.iterdir()) if file.name != "SHA256SUMS"]  # fmt: skip
    (folder / "SHA256SUMS").write_text("".join(lines))


class MadePlugins(PluginsCase):
    """Tests of plugins in the folder `plugins`, with a model of one Relu and no configurations but their own."""

    program = None  # of main()

    def setUp(self):
        super().setUp()
        for folder in (self.scratch, self.plugins):
            folder.chmod(0o755)
        self.model = self.write_model("m", (4,))
        (self.scratch / "x.bin").write_bytes(bytes.fromhex("00000040") * 4)  # 2

    def write_model(self, name, shape, operators=("Relu",)):
        path = self.scratch / f"{name}.onnx"
        names = ["x", *(f"v{i}" for i in range(len(operators) - 1)), "y"]
        nodes = [onnx_bytes.node(op, [names[i]], [names[i + 1]], f"n{i}") for i, op in enumerate(operators)]
        x, y = (onnx_bytes.value_info(name, shape) for name in "xy")
        path.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        return path

    def config(self, delegates, more="", folders=None):
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{', '.join(map(str, folders or [self.plugins]))}]}}\n"
                          f"cache: {{dir: {self.scratch}/cache}}\ndelegates: [{delegates}]\n{more}")  # fmt: skip
        return config

    def environment(self):
        """No configurations but those of the test."""
        return {**os.environ, "DEPUTY_CONFIG": "", "DEPUTY_SYSTEM_CONFIG": "",
                "XDG_CONFIG_HOME": str(self.scratch / "none"), "XDG_CACHE_HOME": str(self.scratch / "cache")}  # fmt: skip

    def deputy(self, *arguments, status=0, limits=None, **variables):
        def before():
            for limit, value in (limits or {}).items():
                resource.setrlimit(limit, (value, value))

        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              preexec_fn=before if limits else None, env={**self.environment(), **variables})  # fmt: skip
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def run_json(self, config, *arguments, status=0, model=None):
        """The report of a run, None where it fails, and its messages."""
        done = self.deputy("run", model or self.model, "--input", f"x={self.scratch}/x.bin", "--json", "--config", config,
                           *arguments, status=status)  # fmt: skip
        return (json.loads(done.stdout) if status == 0 else None), done.stderr


def main(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--deputy", required=True)
    arguments, rest = parser.parse_known_args()
    MadePlugins.program = os.path.abspath(arguments.deputy)
    unittest.main(argv=[sys.argv[0], *rest])
