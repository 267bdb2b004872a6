"""What the tests of trust in files share: a model, a plugin folder with a lock, a configuration, and the ways in which
other users may write to a file or folder.
"""

import argparse
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = argparse.Namespace()  # filled by main
ROOT = os.geteuid() == 0
STRANGER = 12345  # no account has this number
WRITERS = "users other than you and root may write to it"


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def access_list(stranger):
    """As `setfacl -m u:STRANGER:rwx` makes it: version 2, then tag, permissions, id."""
    none = 0xFFFFFFFF
    entries = [(1, 7, none), (2, 7, stranger), (4, 5, none), (16, 7, none), (32, 5, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def as_user(user, group, *prefix):
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *prefix]


class Trust(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deputy-trust-")
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name).resolve()
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "m.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y]))
        (self.scratch / "x.raw").write_bytes(floats([1, -2, 3, -4, 5, -6]))
        (self.scratch / "y.raw").write_bytes(floats([1, 0, 3, 0, 5, 0]))
        (self.scratch / "above").mkdir()
        self.folder = self.scratch / "above" / "plugins"
        self.folder.mkdir()
        self.plugin = self.folder / "misbehaves.so"
        shutil.copy(Path(ARGS.fixtures) / "misbehaves.so", self.plugin)
        self.lock = self.write_lock(self.folder / "SHA256SUMS")
        self.config = self.write("c.yaml", self.text())

    def text(self, plugins="", entry=""):
        return (f"version: 1\nplugins: {{paths: [{self.folder}]{plugins}}}\ncache: {{dir: 'off'}}\n"
                f"delegates:\n  - name: misbehaves\n{entry}")  # fmt: skip

    def write(self, name, text):
        path = self.scratch / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def write_lock(self, path, name="misbehaves.so"):
        path.write_text(f"{hashlib.sha256(self.plugin.read_bytes()).hexdigest()}  {name}\n")
        return path

    def deputy(self, *arguments, **environment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FIXTURE_", "DEPUTY_"))}
        kept.update(XDG_CONFIG_HOME=str(self.scratch / "none"), DEPUTY_SYSTEM_CONFIG="", COLUMNS="500", **environment)
        return subprocess.run([ARGS.deputy, *map(str, arguments)], env=kept, capture_output=True, text=True, timeout=100)

    def run_model(self, **environment):
        return self.deputy("run", self.model, "--config", self.config, "--rtol", "0", "--atol", "0", "--input",
                           f"x={self.scratch}/x.raw", "--expect", f"y={self.scratch}/y.raw", **environment)  # fmt: skip

    def runs_in_worker(self):
        """Whether a crash of the plugin costs no answer, since it is in a process of its own."""
        done = self.run_model(FIXTURE_FAULT="execute:segv")
        if done.returncode == 0:
            self.assertIn("in a worker process", done.stderr)
            self.assertEqual(done.stdout.count("match"), 1, done.stdout)
            return True
        self.assertLess(done.returncode, 0, done.stderr)
        return False

    def isolated(self, reason, lock=None):
        """The plugin runs in a worker process, and every report says why."""
        self.assertTrue(self.runs_in_worker())
        if lock is not None:
            self.assertRegex(self.run_model().stderr, rf"warning: \S+misbehaves.so: runs in a worker process, .*{reason}")
        shown = self.deputy("plugins", "--why", "--config", self.config)
        self.assertRegex(shown.stdout, rf"lock: not listed: .*{reason}.*; 'isolation: auto' runs it in a worker process")
        (plugin,) = json.loads(self.deputy("plugins", "--json", "--config", self.config).stdout)["plugins"]
        self.assertFalse(plugin["listed"])
        self.assertEqual(plugin["lock"], None if lock is None else str(lock))
        self.assertRegex(plugin["not_listed"], reason)
        if lock is not None:
            doctor = json.loads(self.deputy("doctor", "--json", "--config", self.config).stdout)
            (check,) = [check for check in doctor["checks"] if check["subject"] == f"lock {lock}"]
            self.assertEqual(check["state"], "warning")
            self.assertRegex(check["detail"], reason)

    def open_to_others(self, path):
        """Ways in which others may write to a file or folder, as words for a subtest, with the reason that is given."""
        status = path.stat()

        def restore():
            os.chmod(path, status.st_mode)
            if ROOT:
                os.chown(path, status.st_uid, status.st_gid)
                os.chmod(path, status.st_mode)

        usual = 0o755 if path.is_dir() else 0o644
        os.chmod(path, usual | 0o022)
        yield "mode", rf"{path} \(owner \d+, mode {usual | 0o022:04o}\): {WRITERS}; chmod go-w {path}"
        restore()
        if not ROOT:
            return
        os.chown(path, STRANGER, STRANGER)
        yield "owner", rf"{path} \(owner {STRANGER}, mode \d+\): belongs to user {STRANGER}; chown root {path}"
        restore()
        os.chown(path, 0, STRANGER)
        os.chmod(path, usual | 0o020)
        yield "group", rf"{path} \(owner 0, mode {usual | 0o020:04o}\): group {STRANGER} may write to it"
        restore()
        try:
            os.setxattr(path, "system.posix_acl_access", access_list(STRANGER))
        except OSError:
            return  # a file system without access control lists
        yield "access control list", rf"{path} \(.*\): {WRITERS} by its access control list"
        os.removexattr(path, "system.posix_acl_access")
        restore()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    _, rest = parser.parse_known_args(namespace=ARGS)
    unittest.main(argv=[sys.argv[0], *rest])
