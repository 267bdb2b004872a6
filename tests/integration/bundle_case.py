"""Bundles of the digits for tests, and archives like those of other programs."""

import gzip
import hashlib
import io
import json
import os
import re
import struct
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

DIGITS = Path(__file__).resolve().parents[2] / "configs" / "digits"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sealed(data):
    """The document's own words (host/docs/bundle-format.md), read back by the program."""
    return (data + bytes.fromhex("1f8b08040000000000ff2400") + b"DS" + struct.pack("<H", 32)
            + hashlib.sha256(data).digest() + b"\x03\0" + bytes(8))  # fmt: skip


def member(name, data=b"", **attributes):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info, data


def archive(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return sealed(gzip.compress(out.getvalue(), mtime=0))


def contents(bundle):
    with tarfile.open(bundle) as tar:
        return {info.name: tar.extractfile(info).read() for info in tar}


def repacked(files):
    """With a list of checksums that fits."""
    listed = {name: data for name, data in files.items() if not name.startswith("SHA256SUMS")}
    sums = "".join(f"{sha256(data)}  {name}\n" for name, data in sorted(listed.items())).encode()
    return archive([member("SHA256SUMS", sums)] + [member(name, data) for name, data in sorted(listed.items())])


class BundleCase(unittest.TestCase):
    command = None  # deputy

    @classmethod
    def setUpClass(cls):
        shared = tempfile.TemporaryDirectory(prefix="deputy-bundles-")
        cls.addClassCleanup(shared.cleanup)
        cls.shared = Path(shared.name)
        cls.config = cls.shared / "device.yaml"
        # Of the digits, without oneDNN, which is not everywhere.
        cls.config.write_text("version: 1\nplugins: {paths: [$deputy/plugins]}\ndelegates:\n  - name: npu0\n"
                              "    delegate: sim_npu\n    options: {frequency: high}\n"
                              "    rules: {deny_ops: [Flatten, Gemm]}\n")  # fmt: skip
        cls.bundle = cls.pack(cls, "digits-1.0.dpb")

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deputy-bundle-")
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                            "XDG_CACHE_HOME": str(self.scratch / "cache"),
                            "DEPUTY_BUNDLES": str(self.scratch / "bundles")}  # fmt: skip
        self.environment.pop("DEPUTY_BUNDLE", None)

    def deputy(self, *arguments, status=0, prefix=(), **environment):
        done = subprocess.run([*prefix, self.command, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**self.environment, **environment})  # fmt: skip
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def pack(self, name, *more, config=None, folder=None):
        path = (folder or self.shared) / name
        done = subprocess.run([self.command, "bundle", "pack", "--config", config or self.config, "--model",
                               DIGITS / "digits.onnx", "-o", path, *more], capture_output=True, text=True)  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return path

    def write(self, name, data):
        path = self.scratch / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def refused(self, bundle, rule, message, *more):
        report = json.loads(self.deputy("bundle", "verify", bundle, "--json", *more, status=1).stdout)
        self.assertFalse(report["passed"])
        self.assertEqual([problem["rule"] for problem in report["problems"]], [rule], report)
        self.assertRegex(report["problems"][0]["message"], message)
        done = self.deputy("bundle", "install", bundle, *more, status=1)
        self.assertIn(f"refused: {rule}: ", done.stderr)
        self.assertEqual(json.loads(self.deputy("bundle", "list", "--json").stdout)["bundles"], [])

    def changed(self, name, change):
        files = contents(self.bundle)
        path = next(path for path in files if re.search(name, path))
        files[path] = change(files[path])
        return self.write("changed-1.0.dpb", repacked(files))

    def minisign(self, *arguments):
        subprocess.run(["minisign", *map(str, arguments)], check=True, capture_output=True)

    def keygen(self, name):
        """Keys by minisign; the public one as `trust_keys` has it."""
        public = self.scratch / f"{name}.pub"
        self.minisign("-GW", "-p", public, "-s", self.scratch / f"{name}.key")
        return public.read_text().splitlines()[1]

    def locked_plugin(self, name="SHA256SUMS"):
        """The lock of a folder with one plugin: its one list."""
        (self.scratch / "plugins" / name).parent.mkdir(parents=True)
        plugin = self.write("plugins/sim_npu.so", contents(self.bundle)["plugins/sim_npu.so"])
        return self.write(f"plugins/{name}", f"{sha256(plugin.read_bytes())}  sim_npu.so\n")

    def listed(self, *keys):
        """The report of that plugin, with these `trust_keys`."""
        config = self.write("c.yaml", "version: 1\nplugins: {paths: [./plugins], trust: listed, trust_keys: "
                                      f"[{', '.join(keys)}]}}\ndelegates: [{{name: sim_npu}}]\n")  # fmt: skip
        return json.loads(self.deputy("plugins", "--json", "--config", config).stdout)["plugins"][0]

    def digits(self, *arguments, **environment):
        done = self.deputy("run", *arguments, **environment)
        self.assertRegex(done.stdout, r"(?m)^\s*npu0\s+6\b")
        return done
