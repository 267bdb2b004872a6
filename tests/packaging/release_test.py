#!/usr/bin/env python3
"""What packaging/release.sh refuses before it builds anything, in a small tree of its own, and that the signature of a
release is minisign's and holds for these bytes only."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
SUMS = PACKAGING / "release" / "sums.py"
GIT = {"GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@localhost", "GIT_COMMITTER_NAME": "test",
       "GIT_COMMITTER_EMAIL": "test@localhost", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}  # fmt: skip
ALL_CHECKS_PASSED = 42  # the status of the tree's install-deps.sh, the first script that a release runs


def run(*command, **kwargs):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **kwargs)  # fmt: skip


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)


class Refusals(Scratch):
    def setUp(self):
        super().setUp()
        self.tree, self.output = self.scratch / "tree", self.scratch / "output"
        for name in ("packaging/debian", "host", "sdk"):
            (self.tree / name).mkdir(parents=True)
        for name in ("release.sh", "tarball.sh", "build-env.sh"):
            shutil.copy(PACKAGING / name, self.tree / "packaging" / name)
        self.write_script("install-deps.sh", f"exit {ALL_CHECKS_PASSED}")
        self.write("CMakeLists.txt", "project(Deputy VERSION 0.3.0 LANGUAGES C CXX)\n")
        self.write("host/CHANGELOG.md", "# Changes\n\n## 0.3.0, 2026-01-31\n\n## 0.2.0, unreleased\n")
        self.write("sdk/CHANGELOG.md", "# Changes\n\n## 0.3.0, 2026-01-31\n")
        self.write("packaging/debian/changelog", "deputy (0.3.0-0deputy1) unstable; urgency=medium\n")
        self.write(".gitignore", "build/\n")
        self.git("init", "--quiet")
        self.commit()
        self.git("tag", "v0.3.0")

    def write(self, name, text):
        (self.tree / name).write_text(text, encoding="utf-8")

    def write_script(self, name, body):
        self.write(f"packaging/{name}", f"#!/bin/sh\n{body}\n")
        (self.tree / "packaging" / name).chmod(0o755)

    def git(self, *arguments):
        done = run("git", "-C", self.tree, *arguments, env={**os.environ, **GIT})
        self.assertEqual(done.returncode, 0, done.stdout)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Change the tree")

    def commit_with_tag(self):
        self.commit()
        self.git("tag", "--force", "v0.3.0")

    def release(self, *arguments):
        return run(self.tree / "packaging" / "release.sh", *arguments, cwd=self.scratch, env={**os.environ, **GIT})

    def assert_refused(self, expected, *arguments):
        done = self.release(*(arguments or [self.output]))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(expected, done.stdout)
        self.assertFalse(self.output.exists() and any(self.output.iterdir()))

    def assert_accepted(self, *arguments):
        done = self.release(*arguments, self.output)
        self.assertEqual(done.returncode, ALL_CHECKS_PASSED, done.stdout)

    def test_ATaggedCommitWithoutChangesIsAccepted(self):
        self.assert_accepted()

    def test_ATreeWithChangesIsRefused(self):
        self.write("CMakeLists.txt", "project(Deputy VERSION 0.3.0 LANGUAGES C CXX) # changed\n")
        self.assert_refused("the tree has changes")
        self.assert_accepted("--dry-run")

    def test_ANewFileIsAChange(self):
        self.write("new.txt", "")
        self.assert_refused("the tree has changes")

    def test_ACommitWithoutTheTagIsRefused(self):
        self.commit()
        self.assert_refused("this commit has no tag v0.3.0")
        self.assert_accepted("--dry-run")

    def test_ATagOfAnotherVersionIsRefused(self):
        self.git("tag", "--delete", "v0.3.0")
        self.git("tag", "v0.3.1")
        self.assert_refused("this commit has no tag v0.3.0")

    def test_ChangesThatAreNotClosedAreRefused(self):
        self.write("host/CHANGELOG.md", "## 0.3.0, unreleased\n")
        self.commit_with_tag()
        self.assert_refused("host/CHANGELOG.md has no heading '## 0.3.0, YYYY-MM-DD'")

    def test_ChangesWithoutADateAreRefused(self):
        for heading in ("## 0.3.0", "## 0.3.0, 2026", "## 0.3.0, 2026-01-31, unreleased", "## 0x3.0, 2026-01-31"):
            with self.subTest(heading):
                self.write("sdk/CHANGELOG.md", f"{heading}\n")
                self.commit_with_tag()
                self.assert_refused("sdk/CHANGELOG.md has no heading '## 0.3.0, YYYY-MM-DD'")

    def test_AVersionWithoutChangesIsRefused(self):
        self.write("sdk/CHANGELOG.md", "## 0.2.0, 2026-01-31\n")
        self.commit_with_tag()
        self.assert_refused("sdk/CHANGELOG.md has no heading '## 0.3.0, YYYY-MM-DD'")

    def test_PackagesOfAnotherVersionAreRefused(self):
        for version in ("0.2.0-0deputy1", "0.3.01-0deputy1"):
            with self.subTest(version):
                self.write("packaging/debian/changelog", f"deputy ({version}) unstable; urgency=medium\n")
                self.commit_with_tag()
                reason = f"packaging/debian/changelog begins with 'deputy ({version}) unstable"
                self.assert_refused(reason)
                self.assert_refused(reason, "--dry-run", self.output)

    def test_AReleaseIsTested(self):
        self.assert_refused("a release is tested", "--skip-tests", self.output)
        self.assert_accepted("--skip-tests", "--dry-run")

    def test_AMissingPackageOfPythonEndsTheRelease(self):
        for name in ("install-deps.sh", "python-deps.sh", "peers.sh"):
            self.write_script(name, "true")
        self.write_script("test.sh", "echo tested; exit 1")
        self.commit_with_tag()
        self.assertIn("tested\n", self.release(self.output).stdout)
        for name, body in (("install-deps.sh", '[ "$1" != python ] || exit 7'), ("python-deps.sh", "exit 7"),
                           ("peers.sh", "exit 7")):  # fmt: skip
            with self.subTest(name):
                self.write_script(name, body)
                self.commit_with_tag()
                done = self.release(self.output)
                self.assertEqual(done.returncode, 7, done.stdout)
                self.assertNotIn("tested", done.stdout)
                self.write_script(name, "true")

    def test_WrongArgumentsAreRefused(self):
        self.assert_refused("no output folder", "--dry-run")
        self.assert_refused("no option '--sign'", "--sign", self.output)
        self.assert_refused("--key needs a value", self.output, "--key")
        self.assert_refused("--key: there is no", "--key", "nowhere", self.output)
        (self.scratch / "empty").mkdir()
        self.assert_refused("has no release-facts.json", "--previous", "empty", self.output)

    def test_TheTarballHasOneOption(self):
        for arguments in (["--prefix", "."], ["--build-dir"], ["--build-dir", ".", "."], ["build"]):
            with self.subTest(arguments):
                done = run(self.tree / "packaging" / "tarball.sh", *arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(f"wrong arguments '{' '.join(arguments)}'; there is: --build-dir DIR", done.stdout)
        done = run(self.tree / "packaging" / "tarball.sh", "--build-dir", ".")
        self.assertEqual(done.returncode, ALL_CHECKS_PASSED, done.stdout)

    def test_FilesInTheOutputFolderStay(self):
        self.output.mkdir()
        (self.output / "kept").touch()
        done = self.release(self.output)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not an empty folder", done.stdout)
        self.assertTrue((self.output / "kept").exists())


class Signature(Scratch):
    def setUp(self):
        super().setUp()
        self.folder = self.scratch / "release"
        self.folder.mkdir()
        (self.folder / "deputy.tar.xz").write_bytes(b"a release")
        (self.folder / "release-facts.json").write_bytes(b"{}")
        done = run("minisign", "-G", "-W", "-p", self.scratch / "public", "-s", self.scratch / "secret")
        self.assertEqual(done.returncode, 0, done.stdout)

    def sign(self):
        return run(sys.executable, SUMS, "--key", self.scratch / "secret", "--comment", "Deputy 1.2.3, commit abc", self.folder)

    def signature(self, public="public"):
        return run("minisign", "-V", "-p", self.scratch / public, "-m", "SHA256SUMS", cwd=self.folder)

    def digests(self):
        return run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.folder).returncode

    def change(self, name):
        content = (self.folder / name).read_bytes()
        (self.folder / name).write_bytes(bytes([content[0] ^ 1]) + content[1:])

    def test_MinisignAcceptsIt(self):
        done = self.sign()
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "SHA256SUMS: 2 files, signed"))
        checked = self.signature()
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertIn("Trusted comment: Deputy 1.2.3, commit abc", checked.stdout)
        self.assertEqual(self.digests(), 0)

    def test_AChangedByteOfTheSumsIsFound(self):
        self.sign()
        self.change("SHA256SUMS")
        self.assertNotEqual(self.signature().returncode, 0)

    def test_AChangedByteOfAFileIsFound(self):
        self.sign()
        self.change("deputy.tar.xz")
        self.assertNotEqual(self.digests(), 0)

    def test_AChangedCommentIsFound(self):
        self.sign()
        path = self.folder / "SHA256SUMS.minisig"
        path.write_text(path.read_text(encoding="utf-8").replace("1.2.3", "1.2.4"), encoding="utf-8")
        self.assertNotEqual(self.signature().returncode, 0)

    def test_AnotherKeyIsRefused(self):
        self.sign()
        run("minisign", "-G", "-W", "-p", self.scratch / "other", "-s", self.scratch / "other-secret")
        self.assertNotEqual(self.signature("other").returncode, 0)

    def test_WithoutAKeyNothingIsSignedAndNoOldSignatureStays(self):
        self.sign()
        done = run(sys.executable, SUMS, self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "SHA256SUMS: 2 files, NOT signed: no --key was given\n"))
        self.assertFalse((self.folder / "SHA256SUMS.minisig").exists())

    def test_AKeyThatIsNoneIsAnError(self):
        (self.scratch / "secret").write_text("no key\n", encoding="utf-8")
        self.assertNotEqual(self.sign().returncode, 0)
        self.assertFalse((self.folder / "SHA256SUMS.minisig").exists())


if __name__ == "__main__":
    unittest.main()
