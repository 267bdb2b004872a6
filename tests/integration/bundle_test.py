#!/usr/bin/env python3
"""Bundles: what is packed is what runs elsewhere, and everything else is refused with its reason.

  bundle_test.py --deputy build/release/bin/deputy --build-dir build/release [unittest's arguments]

--prefix DIR takes an installation in place of one made from --build-dir."""

import argparse
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import unittest

from bundle_case import DIGITS, BundleCase, archive, contents, member, sealed, sha256

ARGS = None
NOTE = b"Deputy\0\0DUPY"  # owner and magic number of a plugin's note; the ABI's version is 4 bytes behind it, frozen
# System calls that change the disk: killed at any of them, an installation leaves the old or the new version.
CHANGES = "openat,write,fsync,fchmod,chmod,mkdir,rename,renameat2,symlink,unlink,unlinkat,rmdir,flock"


class Bundles(BundleCase):
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
        last = self.write("upper.yaml", (upper % (3, "")).replace(", before: npu0", "").replace("  - {name: npu0}\n", ""))
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
    ARGS.deputy = BundleCase.command = os.path.abspath(ARGS.deputy)
    unittest.main(argv=[sys.argv[0]] + rest)
