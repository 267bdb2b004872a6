#!/usr/bin/env python3
"""Signatures of bundles and of locks of plugins: which keys they accept, and until when.

  bundle_signature_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import unittest

from bundle_case import BundleCase, archive, contents, member, sha256


class Signatures(BundleCase):
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    arguments, rest = parser.parse_known_args()
    BundleCase.command = os.path.abspath(arguments.deputy)
    unittest.main(argv=[sys.argv[0]] + rest)
