#!/usr/bin/env python3
"""Bundles: what is packed is what runs elsewhere, and everything else is refused with its reason.

  bundle_test.py --deputy build/release/bin/deputy --build-dir build/release [unittest's arguments]

--prefix DIR takes an installation in place of one made from --build-dir."""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ARGS = None
ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "configs" / "digits"
NOTE = b"Deputy\0\0DUPY"  # owner and magic number of a plugin's note; the ABI's version is 4 bytes behind it, frozen
# System calls that change the disk: killed at any of them, an installation leaves the old or the new version.
CHANGES = "openat,write,fsync,fchmod,chmod,mkdir,rename,renameat2,symlink,unlink,unlinkat,rmdir,flock"


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


class Bundles(unittest.TestCase):
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
        done = subprocess.run([*prefix, ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**self.environment, **environment})  # fmt: skip
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def pack(self, name, *more, config=None, folder=None):
        path = (folder or self.shared) / name
        done = subprocess.run([ARGS.deputy, "bundle", "pack", "--config", config or self.config, "--model",
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

    def test_R172_ALowerVersionNeedsAllowDowngrade(self):
        self.deputy("bundle", "install", self.pack("digits-1.10.dpb"))
        done = self.deputy("bundle", "install", self.bundle, status=1)
        self.assertIn("refused: downgrade: version 1.0 is lower than 1.10, which is in use; --allow-downgrade", done.stderr)
        report = json.loads(self.deputy("bundle", "install", self.bundle, "--json", status=1).stdout)
        self.assertEqual([problem["rule"] for problem in report["problems"]], ["downgrade"])
        in_use = lambda: [b["version"] for b in json.loads(self.deputy("bundle", "list", "--json").stdout)["bundles"] if b["current"]]  # fmt: skip
        self.assertEqual(in_use(), ["1.10"])
        self.deputy("bundle", "install", self.bundle, "--allow-downgrade")
        self.assertEqual(in_use(), ["1.0"])
        self.deputy("bundle", "rollback", "digits")
        self.assertEqual(in_use(), ["1.10"])
        self.deputy("bundle", "rollback", "digits", "1.0")
        self.assertEqual(in_use(), ["1.0"])

    def test_TheSameInputGivesTheSameBytes(self):
        other = self.scratch / "elsewhere"
        other.mkdir()
        config = other / self.config.name
        shutil.copy(self.config, config)
        os.utime(config, (0, 0))
        script = 'umask 077 && cd / && exec "$@"'
        subprocess.run(["sh", "-c", script, "sh", ARGS.deputy, "bundle", "pack", "--config", config, "--model",
                        DIGITS / "digits.onnx", "-o", other / "digits-1.0.dpb"], check=True, capture_output=True,
                       env={**self.environment, "TZ": "Asia/Tokyo", "HOME": "/", "LC_ALL": "C"})  # fmt: skip
        self.assertEqual((other / "digits-1.0.dpb").read_bytes(), self.bundle.read_bytes())

    def test_TarAndSha256sumReadIt(self):
        subprocess.run(["tar", "-xf", self.bundle, "-C", self.scratch], check=True)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=self.scratch, check=True)
        self.assertEqual((self.scratch / "config" / "01-device.yaml").read_bytes(), self.config.read_bytes())

    def test_AGoodBundlePasses(self):
        report = json.loads(self.deputy("bundle", "verify", self.bundle, "--json").stdout)
        self.assertEqual((report["passed"], report["problems"]), (True, []))
        inside = report["contents"]
        self.assertEqual((inside["name"], inside["version"], inside["signed_by"]), ("digits", "1.0", None))
        self.assertEqual(inside["plugins"][0]["delegates"], ["sim_npu"])
        self.assertIn("libc.so.6", inside["plugins"][0]["libraries"])
        for file in inside["files"]:
            self.assertEqual(file["sha256"], sha256(contents(self.bundle)[file["path"]]))
        shown = self.deputy("bundle", "verify", self.bundle).stdout
        self.assertIn("intact and fits this host", shown)
        self.assertTrue(shown.endswith("\nsignature: none\n"), shown)
        self.assertIn("plugins/sim_npu.so", self.deputy("bundle", "inspect", self.bundle).stdout)

    def test_AFolderThatCannotBeMadeIsNamedWithItsVariable(self):
        done = self.deputy("bundle", "verify", self.bundle, status=5, TMPDIR="/proc")
        self.assertRegex(done.stderr, "a temporary folder cannot be made in /proc: .*; the variable TMPDIR names")

    def test_OneChangedByteIsRefused(self):
        good = self.bundle.read_bytes()
        for offset in [0, 3, 4, 8, 9, *range(10, len(good), len(good) // 20), *range(len(good) - 58, len(good), 9)]:
            bad = bytearray(good)
            bad[offset] ^= 1
            report = self.deputy("bundle", "verify", self.write("bad-1.0.dpb", bytes(bad)), status=1).stdout
            self.assertIn("refused  damaged: ", report, offset)
        self.refused(self.write("bad-1.0.dpb", good[:-1]), "damaged", "is damaged")

    def test_ArchivesOfOthersAreRefused(self):
        sums = f"{sha256(b'x')}  config/01-a.yaml\n".encode()
        first = member("SHA256SUMS", sums)
        link = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
        cases = {
            "absolute": ([member("/etc/x", b"x")], "unsafe-path", "'/etc/x' is absolute"),
            "climbs": ([member("config/../../x", b"x")], "unsafe-path", "leads out of its folder"),
            "symbolic link": ([member("config/01-a.yaml", **link)], "unsafe-path", "a link, folder or device"),
            "hard link": ([member("config/01-a.yaml", type=tarfile.LNKTYPE, linkname="SHA256SUMS")], "unsafe-path",
                          "a link, folder or device"),
            "device": ([member("config/01-a.yaml", type=tarfile.CHRTYPE)], "unsafe-path", "a link, folder or device"),
            "name": ([member("config/01-\u00e9.yaml", b"x")], "unsafe-path", "printable ASCII"),
            "place": ([member("etc/a.yaml", b"x")], "unsafe-path", "has no place in a bundle"),
            "not listed": ([member("config/01-b.yaml", b"x")], "damaged", "is not in SHA256SUMS"),
            "changed": ([member("config/01-a.yaml", b"y")], "damaged", "SHA-256 of 'config/01-a.yaml'"),
            "missing": ([], "damaged", "bundle.json"),
            "twice": ([member("config/01-a.yaml", b"x")] * 2, "unsafe-path", "is there twice"),
        }  # fmt: skip
        for name, (members, rule, message) in cases.items():
            with self.subTest(name):
                self.refused(self.write("bad-1.0.dpb", archive([first, *members])), rule, message)
        self.refused(self.write("bad-1.0.dpb", archive([member("bundle.json", b"{}")])), "damaged", "does not begin")
        many = [member(f"config/{i:02}-a", b"") for i in range(1025)]
        sums = "".join(f"{sha256(b'')}  {info.name}\n" for info, _ in many).encode()
        self.refused(self.write("bad-1.0.dpb", archive([member("SHA256SUMS", sums), *many])), "too-large", "1024 files")
        large, _ = member("config/01-a.yaml")
        large.size = 20 << 30
        header = first[0].tobuf() + first[1].ljust(512, b"\0") + large.tobuf(tarfile.GNU_FORMAT)
        self.refused(self.write("bad-1.0.dpb", sealed(gzip.compress(header))), "too-large", "bytes together")

    def test_ADescriptionOfANewerFormatIsRefused(self):
        newer = self.changed(r"bundle\.json", lambda text: text.replace(b'"format": 1', b'"format": 2'))
        self.refused(newer, "incompatible", "has format 2; this Deputy reads format 1")

    def test_ANewerAbiIsRefused(self):
        def newer(plugin):
            at = plugin.index(NOTE) + len(NOTE) + 4
            return plugin[:at] + struct.pack("<I", 9 << 16) + plugin[at + 4:]

        self.refused(self.changed(r"sim_npu\.so", newer), "abi-mismatch", r"sim_npu\.so: is built for plugin ABI 9\.0")

    def test_AMissingLibraryIsRefused(self):
        absent = self.changed(r"sim_npu\.so", lambda plugin: plugin.replace(b"\0libstdc++.so.6\0", b"\0libabsent.so.6\0"))
        self.refused(absent, "load-failed", r"sim_npu\.so: .*libabsent\.so\.6")

    def test_OptionsThatThePluginDoesNotHaveAreRefused(self):
        wrong = self.changed(r"device\.yaml", lambda text: text.replace(b"frequency", b"frequncy"))
        self.refused(wrong, "configuration", r"01-device\.yaml:6:\d+: .*did you mean 'frequency'")

    def test_ADelegateWithoutAPluginIsNotPacked(self):
        config = self.write("c.yaml", "version: 1\ndelegates: [{name: absent}]\n")
        done = self.deputy("bundle", "pack", "--config", config, "-o", self.scratch / "a-1.dpb", status=4)
        self.assertRegex(done.stderr, r"c\.yaml:2:\d+: no plugin offers the delegate 'absent'")
        done = self.deputy("bundle", "pack", "--config", self.config, "-o", self.scratch / "a.dpb", status=2)
        self.assertIn("is not NAME-VERSION.dpb", done.stderr)

    def test_ARelativeCacheFolderIsRefused(self):
        config = self.write("c.yaml", self.config.read_text() + "cache: {dir: ../cache}\n")
        done = self.deputy("bundle", "pack", "--config", config, "-o", self.scratch / "a-1.dpb", status=2)
        self.assertRegex(done.stderr, r"c\.yaml:8:\d+: the folder of 'cache: \{dir\}' is relative in a bundle")
        wrong = self.changed(r"device\.yaml", lambda text: text + b"cache: {dir: ../cache}\n")
        self.refused(wrong, "configuration", r"01-device\.yaml:8:\d+: the folder of 'cache: \{dir\}' is relative")
        for folder in ("off", "auto", "/var/cache/deputy"):
            config.write_text(self.config.read_text() + f"cache: {{dir: {folder}}}\n")
            self.deputy("bundle", "pack", "--config", config, "-o", self.scratch / "a-1.dpb")

    def test_TheVersionThatPackedItIsShown(self):
        shown = self.deputy("bundle", "inspect", self.bundle).stdout
        version = self.deputy("--version").stdout.split()[1]
        self.assertIn(f"packed by Deputy {version}", shown)

    def test_ASignatureIsChecked(self):
        for name in ("ours", "other"):
            self.deputy("bundle", "keygen", "-o", self.scratch / name)
        key, other = self.scratch / "ours.pub", self.scratch / "other.pub"
        signed = self.pack("digits-1.0.dpb", "--sign", self.scratch / "ours.key", folder=self.scratch)
        self.refused(self.bundle, "signature", "is not signed", "--key", key)
        self.refused(signed, "signature", "is signed with the key .*, not with", "--key", other)
        self.assertIn(", checked", self.deputy("bundle", "verify", signed, "--key", key).stdout)
        for command in (["verify"], ["install", "--root", self.scratch / "other"]):
            self.assertIn("not checked; give its key by --key", self.deputy("bundle", *command, signed).stdout)
        again = self.scratch / "again"
        again.mkdir()
        self.assertEqual(self.pack("digits-1.0.dpb", "--sign", self.scratch / "ours.key", folder=again).read_bytes(),
                         signed.read_bytes())  # fmt: skip
        # The signature of other contents.
        files = contents(signed)
        members = [member(name, data) for name, data in contents(self.pack("digits-1.1.dpb", folder=again)).items()]
        members.insert(1, member("SHA256SUMS.minisig", files["SHA256SUMS.minisig"]))
        wrong = self.write("wrong-1.1.dpb", archive(members))
        self.refused(wrong, "signature", "signature with the key .* is wrong", "--key", key)
        self.deputy("bundle", "install", signed, "--key", key)

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_MinisignChecksOurSignatureAndWeItsKey(self):
        self.deputy("bundle", "keygen", "-o", self.scratch / "ours")
        self.keygen("its")
        for name in ("ours", "its"):
            folder = self.scratch / ("unpacked-" + name)
            folder.mkdir()
            signed = self.pack("digits-1.0.dpb", "--sign", self.scratch / f"{name}.key", folder=folder)
            self.deputy("bundle", "verify", signed, "--key", self.scratch / f"{name}.pub")
            subprocess.run(["tar", "-xf", signed, "-C", folder], check=True)
            check = ["minisign", "-Vm", folder / "SHA256SUMS", "-p", self.scratch / f"{name}.pub"]
            self.assertIn("digits 1.0", subprocess.run(check, check=True, capture_output=True, text=True).stdout)
            (folder / "SHA256SUMS").write_bytes(b"another")
            self.assertNotEqual(subprocess.run(check, capture_output=True).returncode, 0)

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_TrustKeysAcceptALockThatMinisignSigned(self):
        keys = {name: self.keygen(name) for name in ("good", "other")}
        sums = self.locked_plugin()
        self.minisign("-Sm", sums, "-s", self.scratch / "good.key")
        self.assertEqual(self.listed(keys["good"])["rule"], "probed")
        self.assertEqual(self.listed(keys["other"])["rule"], "not-listed")
        sums.write_text(sums.read_text() + f"{sha256(b'')}  more.so\n")
        self.assertEqual(self.listed(keys["good"])["rule"], "not-listed")

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_TheSignatureOfAListOfAPackageIsBesideIt(self):
        key = self.keygen("good")
        sums = self.locked_plugin("SHA256SUMS.d/sim_npu.sha256")
        self.minisign("-Sm", sums, "-s", self.scratch / "good.key")
        report = self.listed(key)
        self.assertEqual((report["rule"], report["lock"]), ("probed", str(sums)))
        sums.with_name("sim_npu.sha256.minisig").rename(sums.with_name("SHA256SUMS.minisig"))
        report = self.listed(key)
        self.assertEqual(report["rule"], "not-listed")
        self.assertIn(f"{sums}: is not signed, which 'trust_keys' requires", report["reason"])

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_R77_TrustKeysRefuseALockAfterTheLastDayOfItsSignature(self):
        keys = [self.keygen(name) for name in ("good", "other")]
        sums = self.locked_plugin()

        def signed(comment):
            self.minisign("-Sm", sums, "-s", self.scratch / "good.key", "-t", comment)
            return self.listed(*keys)

        report = signed("camera 1.2 expires:2001-01-31")
        self.assertEqual(report["rule"], "not-listed")
        self.assertRegex(report["reason"], rf"^{sums}: the signature has expired: its last day was 2001-01-31, and today "
                                           r"is \d{4}-\d\d-\d\d \(UTC\); install what is signed again")  # fmt: skip
        for comment, reason in (("expires:2999-02-29", "'expires:2999-02-29', which is not a day"),
                                ("expires:2999-12-31 expires:2999-12-31", "the word 'expires:' twice")):  # fmt: skip
            report = signed(comment)
            self.assertEqual(report["rule"], "not-listed")
            self.assertIn(f"{sums}: the trusted comment has {reason}", report["reason"])
        self.assertEqual(signed("camera 1.2 expires:2999-12-31")["rule"], "probed")

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_R77_ABundleIsRefusedAfterTheLastDayOfItsSignature(self):
        self.keygen("its")
        files = contents(self.bundle)
        sums = self.write("SHA256SUMS", files.pop("SHA256SUMS"))
        for day, message in (("2001-01-31", "has expired: its last day was 2001-01-31, and today is "),
                             ("2999-13-01", "'expires:2999-13-01', which is not a day")):  # fmt: skip
            self.minisign("-Sm", sums, "-s", self.scratch / "its.key", "-t", f"digits 1.0 expires:{day}")
            signature = (self.scratch / "SHA256SUMS.minisig").read_bytes()
            members = [member("SHA256SUMS", sums.read_bytes()), member("SHA256SUMS.minisig", signature)]
            bundle = self.write("its-1.0.dpb", archive(members + [member(*item) for item in files.items()]))
            self.refused(bundle, "signature", f"^SHA256SUMS.minisig: .*{message}", "--key", self.scratch / "its.pub")
            shown = "an unreadable day" if day.startswith("2999") else day
            self.assertIn(f" until {shown}", self.deputy("bundle", "inspect", bundle).stdout)
            report = json.loads(self.deputy("bundle", "inspect", bundle, "--json").stdout)
            self.assertEqual(report["expires"], shown)

    def test_R77_TheLastDayOfASignatureIsShown(self):
        self.deputy("bundle", "keygen", "-o", self.scratch / "ours")
        key, bundle = self.scratch / "ours.pub", self.scratch / "a-1.0.dpb"
        pack = ["bundle", "pack", "--config", self.config, "-o", bundle, "--sign", self.scratch / "ours.key"]
        self.assertIsNone(json.loads(self.deputy(*pack, "--json").stdout)["expires"])
        self.assertRegex(self.deputy(*pack, "--expires", "2999-12-31").stdout, r"signed by [0-9A-F]{16} until 2999-12-31")
        shown = self.deputy("bundle", "verify", bundle, "--key", key).stdout
        self.assertRegex(shown, r"(?m)^signature: by [0-9A-F]{16} until 2999-12-31, checked$")
        self.assertIn(" until 2999-12-31, not checked", self.deputy("bundle", "verify", bundle).stdout)
        self.assertIn(" until 2999-12-31", self.deputy("bundle", "inspect", bundle).stdout)
        report = json.loads(self.deputy("bundle", "verify", bundle, "--key", key, "--json").stdout)
        self.assertEqual((report["signature_checked"], report["contents"]["expires"]), (True, "2999-12-31"))
        self.assertIn(" until 2999-12-31, checked", self.deputy("bundle", "install", bundle, "--key", key).stdout)

    def test_R77_AWrongLastDayIsNotSigned(self):
        self.deputy("bundle", "keygen", "-o", self.scratch / "ours")
        pack = ["bundle", "pack", "--config", self.config, "-o", self.scratch / "a-1.0.dpb"]
        self.assertIn("--expires requires --sign", self.deputy(*pack, "--expires", "2999-12-31", status=2).stderr)
        for day, message in (("2001-01-31", "2001-01-31, is past: today is "), ("2999-02-29", "'2999-02-29', is not a day"),
                             ("31.12.2999", "'31.12.2999', is not a day (YYYY-MM-DD)")):  # fmt: skip
            done = self.deputy(*pack, "--sign", self.scratch / "ours.key", "--expires", day, status=2)
            self.assertIn(message, done.stderr)
        self.assertFalse((self.scratch / "a-1.0.dpb").exists())

    def test_APlacementBesideAModelGoesWithIt(self):
        model, bundle = self.write("m.onnx", (DIGITS / "digits.onnx").read_bytes()), self.scratch / "m-1.0.dpb"
        self.deputy("tune", model, "--config", self.config, "--budget", "10ms")
        self.deputy("bundle", "pack", "--config", self.config, "--model", model, "-o", bundle)
        report = json.loads(self.deputy("bundle", "inspect", bundle, "--json").stdout)
        self.assertEqual(report["models"], ["models/m.onnx"])
        self.assertIn("models/m.onnx.placement.yaml", [file["path"] for file in report["files"]])
        self.deputy("bundle", "install", bundle)
        self.deputy("run", "--bundle", "m")

    def test_AnInstalledBundleRuns(self):
        self.deputy("bundle", "install", self.bundle)
        self.digits("--bundle", "digits")
        self.digits("digits.onnx", "--bundle", "digits")
        self.digits(DIGITS / "digits.onnx", DEPUTY_BUNDLE="digits")
        self.digits("--bundle", self.scratch / "bundles" / "digits" / "1.0")
        done = self.deputy("run", "--bundle", "digits", "--set", "delegates.npu0.enabled=false")
        self.assertNotRegex(done.stdout, r"(?m)^\s*npu0\s")
        self.assertIn("did you mean 'digits'", self.deputy("run", "--bundle", "digit", "x.onnx", status=2).stderr)
        self.deputy("bundle", "verify", "digits")
        done = self.deputy("run", "--bundle", "digits", "--config", self.config, status=2)
        self.assertRegex(done.stderr, "--(config|bundle) excludes --(bundle|config)")

    def test_AVariableThatIsOverriddenIsNamed(self):
        self.deputy("bundle", "install", self.bundle)
        model, none = DIGITS / "digits.onnx", {"DEPUTY_CONFIG": ""}
        ignored = "warning: DEPUTY_BUNDLE=digits is not used: a configuration is given in its place\n"
        for command in (("run", model, "--config", self.config), ("compare", model, "--config", self.config),
                        ("config", "show", "--config", self.config), ("config", "check", self.config)):  # fmt: skip
            with self.subTest(command):
                self.assertEqual(self.deputy(*command, DEPUTY_BUNDLE="digits", **none).stderr.count(ignored), 1)
                self.assertNotIn("is not used:", self.deputy(*command, **none).stderr)
        both = {"DEPUTY_BUNDLE": "digits", "DEPUTY_CONFIG": "cpu-only"}
        ignored = "DEPUTY_CONFIG=cpu-only is not used: DEPUTY_BUNDLE=digits takes the place of all configurations"
        self.assertIn(f"warning: {ignored}\n", self.digits(model, **both).stderr)
        rows = json.loads(self.deputy("doctor", "--json", status=None, **both).stdout)["checks"]
        self.assertIn(("environment", "warning", ignored), [(row["subject"], row["state"], row["detail"]) for row in rows])
        self.assertIn(("configuration", "the bundle digits"), [(row["subject"], row["detail"]) for row in rows])
        for quiet in (("--bundle", "digits"), ("--config", self.config)):
            self.assertNotIn("is not used:", self.digits(model, *quiet, DEPUTY_CONFIG="cpu-only").stderr)

    def test_ABundleOfTheEnvironmentCountsForDigits(self):
        self.assertIn("no bundle 'absent' is installed", self.deputy("digits", DEPUTY_BUNDLE="absent", status=2).stderr)

    def test_ConfigCheckReadsNoBundle(self):
        self.deputy("bundle", "install", self.bundle)
        for arguments, environment in ((("--bundle", "digits"), {}), (("--bundle", "digits", self.config), {}),
                                       ((), {"DEPUTY_BUNDLE": "digits"})):  # fmt: skip
            error = self.deputy("config", "check", *arguments, status=2, **environment).stderr
            self.assertIn("config check reads no bundle: 'deputy bundle verify digits' checks 'digits'", error)

    def test_AChangedFileOfAnInstalledBundleIsRefused(self):
        self.deputy("bundle", "install", self.bundle)
        folder = self.scratch / "bundles" / "digits" / "1.0"
        plugin = folder / "plugins" / "sim_npu.so"
        good = plugin.read_bytes()
        plugin.write_bytes(good + b"\0")
        done = self.deputy("run", "--bundle", "digits", "--set", "delegates.npu0.required=true", status=4)
        self.assertRegex(done.stderr, r"sim_npu\.so: not used \(not-listed\): its SHA-256 is not the one in")
        self.assertIn("damaged", self.deputy("bundle", "verify", "digits", status=1).stdout)
        plugin.write_bytes(good)
        (folder / "config" / "01-device.yaml").write_text("version: 1\n")
        done = self.deputy("run", "--bundle", "digits", status=2)
        self.assertRegex(done.stderr, r"01-device\.yaml: was changed: .*install the bundle again")

    def test_AnUnpackedPluginThatIsRejectedIsNamedFromTheBundleOn(self):
        self.deputy("bundle", "install", self.bundle)
        folder = self.scratch / "bundles" / "digits" / "1.0"
        (plugin,) = (folder / "plugins").glob("*.so")
        plugin.chmod(0o777)
        link = self.scratch / "link"
        link.symlink_to(folder)
        report = json.loads(self.deputy("bundle", "verify", f"{link}/", "--json", status=1).stdout)
        self.assertTrue(any(p["message"].startswith(f"plugins/{plugin.name}: ") for p in report["problems"]), report)

    def test_VersionsAreComparedAndRolledBack(self):
        config = self.write("device.yaml", self.config.read_text().replace("high", "low"))
        new = self.pack("digits-1.1.dpb", config=config, folder=self.scratch)
        done = self.deputy("bundle", "diff", self.bundle, new, "--json", status=1)
        report = json.loads(done.stdout)
        self.assertEqual([(d["kind"], d["name"]) for d in report["differences"]],
                         [("file", "config/01-device.yaml"), ("configuration", "all layers")])  # fmt: skip
        (frequency,) = report["differences"][1]["values"]
        self.assertEqual((frequency["name"], frequency["before"], frequency["after"]),
                         ("delegates.npu0.options.frequency", "high", "low"))  # fmt: skip
        text = self.deputy("bundle", "diff", self.bundle, new, status=1).stdout
        self.assertRegex(text, r"(?m)^ +delegates\.npu0\.options\.frequency +high +low$")
        self.assertIn("changed  file config/01-device.yaml", self.deputy("bundle", "diff", self.bundle, new, status=1).stdout)
        self.deputy("bundle", "diff", self.bundle, self.bundle)
        for bundle in (self.bundle, new):
            self.deputy("bundle", "install", bundle)
        self.assertIn("(low)", self.digits("--bundle", "digits").stdout)
        self.deputy("bundle", "rollback", "digits")
        self.assertIn("(high)", self.digits("--bundle", "digits").stdout)
        listed = json.loads(self.deputy("bundle", "list", "--json").stdout)["bundles"]
        self.assertEqual([(b["version"], b["current"]) for b in listed], [("1.0", True), ("1.1", False)])
        self.deputy("bundle", "remove", "digits", "1.0", status=2)
        self.deputy("bundle", "remove", "digits", "1.1")
        self.deputy("bundle", "remove", "digits")
        self.assertEqual(json.loads(self.deputy("bundle", "list", "--json").stdout)["bundles"], [])

    def test_TheValuesOfAllLayersAreCompared(self):
        base = self.config.read_text().replace("high", "low")
        upper = "version: 1\ndelegates:\n  - {name: npu1, delegate: sim_npu, before: npu0, min_nodes: %d}\n  - {name: npu0%s}\n"

        def pack(version, nodes, more):
            files = [self.write("base.yaml", base), self.write("upper.yaml", upper % (nodes, more))]
            return self.pack(f"digits-{version}.dpb", "--config", files[1], config=files[0], folder=self.scratch)

        old, new = pack("1.0", 2, ", options: {frequency: high}"), pack("1.1", 3, "")
        report = json.loads(self.deputy("bundle", "diff", old, new, "--json", status=1).stdout)
        file, configuration = report["differences"]
        self.assertEqual((file["kind"], file["name"], file["values"]), ("file", "config/02-upper.yaml", []))
        self.assertEqual((configuration["kind"], configuration["problem"]), ("configuration", ""))
        self.assertEqual(configuration["after"], "config/01-base.yaml, config/02-upper.yaml")
        # What the second layer does not set any more has the value of the first one, not the default.
        self.assertEqual([(v["name"], v["before"], v["after"]) for v in configuration["values"]],
                         [("delegates.npu0.options.frequency", "high", "low"), ("delegates.npu1.min_nodes", "2", "3")])  # fmt: skip
        # The order is a value, too.
        last = self.write("upper.yaml", (upper % (3, "")).replace(", before: npu0", ""))
        report = json.loads(self.deputy("bundle", "diff", new, self.pack(
            "digits-1.3.dpb", "--config", last, config=self.scratch / "base.yaml", folder=self.scratch), "--json", status=1).stdout)
        self.assertEqual([(v["name"], v["before"], v["after"]) for v in report["differences"][-1]["values"]],
                         [("delegates", "npu1, npu0", "npu0, npu1")])  # fmt: skip
        # No value differs.
        report = json.loads(self.deputy("bundle", "diff", new, pack("1.2", 3, ", enabled: true"), "--json", status=1).stdout)
        self.assertEqual([d["kind"] for d in report["differences"]], ["file"])

    def test_AConfigurationThatCannotBeReadIsNotCompared(self):
        unreadable = self.changed("config/", lambda data: data + b"cpu: {thread: 1}\n")
        done = self.deputy("bundle", "diff", self.bundle, unreadable, "--json", status=1)
        file, configuration = json.loads(done.stdout)["differences"]
        self.assertEqual((file["kind"], configuration["kind"], configuration["values"]), ("file", "configuration", []))
        self.assertIn("digits 1.0: config/01-device.yaml:8:7: unknown key 'thread'", configuration["problem"])
        text = self.deputy("bundle", "diff", self.bundle, unreadable, status=1).stdout
        self.assertIn("the values of the configuration are not compared: digits 1.0: config/01-device.yaml:8:7: ", text)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_AnInstallationKilledAtAChangeOfTheDiskLeavesTheOldOrTheNewVersion(self):
        new = self.pack("digits-1.1.dpb", folder=self.scratch)
        self.deputy("bundle", "install", self.bundle)
        kept = self.scratch / "kept"
        shutil.copytree(self.scratch / "bundles", kept, symlinks=True)
        trace = self.scratch / "trace"
        # Only calls of the installation's own thread that name or write below the root.
        count = ["strace", "-o", trace, "-P", self.scratch / "bundles", "-e", "trace=" + CHANGES]
        done = self.deputy("bundle", "install", new, prefix=count, status=None)
        if done.returncode != 0 and "ptrace" in done.stderr:
            self.skipTest("processes cannot be traced here")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = set()
        names = [name for name in ("rename", "renameat2", "symlink", "mkdir", "unlinkat", "fsync", "flock", "chmod")]
        for name in names:
            for number in range(1, 40):
                shutil.rmtree(self.scratch / "bundles")
                shutil.copytree(kept, self.scratch / "bundles", symlinks=True)
                inject = ["strace", "-o", "/dev/null", "-e", f"trace={name}", "-e",
                          f"inject={name}:signal=KILL:when={number}"]  # fmt: skip
                done = self.deputy("bundle", "install", new, prefix=inject, status=None)
                version = os.readlink(self.scratch / "bundles" / "digits" / "current")
                found.add(version)
                self.deputy("bundle", "verify", "digits")
                if done.returncode == 0:
                    break
            else:
                self.fail(f"{name}: more than 40 calls")
        self.assertEqual(found, {"1.0", "1.1"})
        self.digits("--bundle", "digits")

    def test_ABundleRunsWhereNothingElseOfDeputyIs(self):
        prefix = self.scratch / "prefix"
        if ARGS.prefix:
            shutil.copytree(ARGS.prefix, prefix, symlinks=True)
        else:
            subprocess.run([ARGS.cmake, "--install", ARGS.build_dir, "--prefix", prefix], check=True, capture_output=True)
        shutil.rmtree(prefix / "lib" / "deputy" / "plugins")  # those of the bundle must do
        root = self.scratch / "root"
        for folder in ("usr", "etc", "proc", "dev", "tmp", "opt/deputy", "home"):
            (root / folder).mkdir(parents=True)
        for name in ("lib", "lib64", "bin"):
            if os.path.islink("/" + name):
                os.symlink(os.readlink("/" + name), root / name)
            elif os.path.isdir("/" + name):
                (root / name).mkdir()
        shutil.copy("/etc/ld.so.cache", root / "etc")
        shutil.copy(self.bundle, root / "home")
        binds = [name for name in ("usr", "lib", "lib64", "bin") if (root / name).is_dir() and not (root / name).is_symlink()]
        script = "set -e\n" + "".join(f"mount --rbind /{name} {root}/{name}\n" for name in [*binds, "proc", "dev"])
        script += (f"mount --rbind {prefix} {root}/opt/deputy\n"
                   f"exec chroot {root} /usr/bin/env -i HOME=/home PATH=/usr/bin:/bin /bin/sh -ec '\n"
                   "/opt/deputy/bin/deputy bundle install /home/digits-1.0.dpb\n"
                   "/opt/deputy/bin/deputy run --bundle digits'\n")
        for how in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
            if subprocess.run([*how, "true"], capture_output=True).returncode == 0:
                break
        else:
            self.skipTest("this user may not mount")
        done = subprocess.run([*how, "sh", "-c", script], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("digits 1.0 is installed in ", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^\s*npu0\s+6\b")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--build-dir")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--prefix")
    ARGS, rest = parser.parse_known_args()
    ARGS.deputy = os.path.abspath(ARGS.deputy)
    unittest.main(argv=[sys.argv[0]] + rest)
