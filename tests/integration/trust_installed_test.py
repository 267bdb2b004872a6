#!/usr/bin/env python3
"""What Deputy installs, keeps and consists of, where users other than root and the current one may write to it or put
something else in its place: bundles, caches, parts of the installation.

  trust_installed_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [...]
"""

import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from trust_cases import ARGS, ROOT, STRANGER, WRITERS, Trust, main


class Bundles(Trust):
    def setUp(self):
        super().setUp()
        self.bundle = self.scratch / "a-1.0.dpb"
        self.root = self.scratch / "bundles"
        plain = self.write("plain.yaml", "version: 1\ndelegates: []\n")
        self.good("bundle", "pack", "--config", plain, "--model", self.model, "-o", self.bundle)

    def good(self, *arguments):
        done = self.deputy(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_R161_a_root_that_others_may_write_is_neither_used_nor_changed(self):
        self.good("bundle", "install", self.bundle, "--root", self.root)
        version = self.root / "a" / "1.0"
        for path in (self.root, self.root / "a", version, version / "SHA256SUMS", version / "config"):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    for bundle in ("a", f"{version}/"):
                        done = self.deputy("run", "--bundle", bundle, DEPUTY_BUNDLES=str(self.root))
                        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                        self.assertRegex(done.stderr, f"is not trusted: {reason}")
                    if path == self.root:
                        for command in (["install", self.bundle], ["rollback", "a"], ["remove", "a"]):
                            done = self.deputy("bundle", *command, "--root", self.root)
                            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                            self.assertRegex(done.stderr, f"is not trusted: {reason}")
        self.assertEqual(self.deputy("run", "--bundle", "a", DEPUTY_BUNDLES=str(self.root)).returncode, 0)

    def test_R196_what_is_in_a_bundle_is_held_to_the_same(self):
        self.good("bundle", "install", self.bundle, "--root", self.root)
        version = self.root / "a" / "1.0"
        (version / "plugins").mkdir()
        for path in (version / "models", version / "models" / "m.onnx", version / "plugins",
                     version / "config" / "01-plain.yaml", version / "bundle.json"):  # fmt: skip
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    for bundle in ("a", f"{version}/"):
                        done = self.deputy("run", "--bundle", bundle, DEPUTY_BUNDLES=str(self.root))
                        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                        self.assertRegex(done.stderr, f"is not trusted: {reason}")

    def test_R196_a_sticky_root_is_neither_used_nor_changed(self):
        self.good("bundle", "install", self.bundle, "--root", self.root)
        for path in (self.root, self.root / "a"):
            path.chmod(0o1777)
            for command in (["run", "--bundle", "a"], ["bundle", "install", self.bundle, "--root", self.root]):
                done = self.deputy(*command, DEPUTY_BUNDLES=str(self.root))
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, rf"is not trusted: {path} \(owner \d+, mode 1777\): {WRITERS}")
            path.chmod(0o755)

    def test_R196_the_folder_of_a_bundle_that_others_own_is_not_changed(self):
        self.good("bundle", "install", self.bundle, "--root", self.root)
        folder = self.root / "a"
        for way, reason in self.open_to_others(folder):
            with self.subTest(way):
                for command in (["install", self.bundle], ["rollback", "a"], ["remove", "a"]):
                    done = self.deputy("bundle", *command, "--root", self.root)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertRegex(done.stderr, f"is not trusted: {reason}")
                    self.assertEqual([path.name for path in self.root.iterdir() if path.name.startswith(".deputy")], [])
        theirs = self.scratch / "theirs"
        folder.rename(theirs)
        folder.symlink_to(theirs)
        for command in (["install", self.bundle], ["rollback", "a"], ["remove", "a"]):
            done = self.deputy("bundle", *command, "--root", self.root)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn("is not a folder but a symbolic link", done.stderr)
        self.assertEqual(sorted(path.name for path in theirs.iterdir()), ["1.0", "current"])
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), [".lock", "a"])

    def test_a_bundle_without_a_version_in_use_is_named_as_such(self):
        self.good("bundle", "install", self.bundle, "--root", self.root)
        current = self.root / "a" / "current"
        for target in ("/elsewhere", "2.0", "../a/1.0", None):
            current.unlink()
            if target is not None:
                current.symlink_to(target)
            done = self.deputy("run", "--bundle", "a", DEPUTY_BUNDLES=str(self.root))
            self.assertGreater(done.returncode, 0)
            self.assertIn(f"bundle 'a' has no version in use: {current} is not a link to one", done.stderr)
            self.assertIn("'deputy bundle rollback a VERSION' chooses one", done.stderr)
            if target is None:
                current.symlink_to("none")

    def test_R161_a_public_key_that_others_may_write_checks_nothing(self):
        self.good("bundle", "keygen", "-o", self.scratch / "k")
        key = self.scratch / "k.pub"
        for way, reason in self.open_to_others(key):
            with self.subTest(way):
                done = self.deputy("bundle", "install", self.bundle, "--key", key, "--root", self.root)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, f"is not trusted: {reason}")


class Caches(Trust):
    def test_R197_a_cache_that_others_could_replace_is_not_used(self):
        above = self.scratch / "place"
        above.mkdir()
        cache = above / "cache"
        self.config.write_text(self.config.read_text().replace("dir: 'off'", f"dir: {cache}"))
        self.assertEqual(self.run_model().returncode, 0)
        self.assertGreater(len(list(cache.iterdir())), 0)
        shutil.rmtree(cache)
        link = self.scratch / "link"
        link.symlink_to(above / "other")
        for folder in (cache, link / "cache"):
            self.config.write_text(self.text().replace("dir: 'off'", f"dir: {folder}"))
            for way, reason in self.open_to_others(above):
                with self.subTest(way, folder=folder):
                    done = self.run_model()
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertRegex(done.stderr, f"warning: the cache in {folder} is not used: {reason}.*; continuing without it")
                    self.assertEqual(list(above.iterdir()), [], "nothing is made there")
        self.config.write_text(self.text().replace("dir: 'off'", f"dir: {cache}"))
        cache.mkdir(mode=0o700)
        above.chmod(0o777)
        self.assertRegex(self.run_model().stderr, rf"warning: the cache in {cache} is not used: {above} \(.*{WRITERS}")
        self.assertEqual(list(cache.iterdir()), [])
        self.assertEqual(self.deputy("cache", "ls", "--config", self.config).returncode, 5)


class Installations(Trust):
    def test_R161_parts_of_the_installation_that_others_may_write_are_not_loaded(self):
        program = Path(ARGS.deputy).resolve()
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        library = Path(re.search(r"libdeputy\.so\.\S+ => (\S+)", libraries)[1]).resolve()
        (self.scratch / "lib").mkdir()
        copy = Path(shutil.copy(library, self.scratch / "lib" / re.search(r"libdeputy\.so\.\S+", libraries)[0]))
        shutil.copytree(library.parent / "deputy", copy.parent / "deputy",
                        ignore=shutil.ignore_patterns("plugins"))  # fmt: skip
        environment = {"LD_LIBRARY_PATH": str(copy.parent)}
        self.assertEqual(self.run_model(**environment).returncode, 0)
        importer = copy.parent / "deputy" / "importers" / "libdeputy_import_onnx.so"
        worker = copy.parent / "deputy" / "deputy-worker"
        for path in (importer, importer.parent):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    done = self.run_model(**environment)
                    self.assertGreater(done.returncode, 0, done.stdout)
                    self.assertRegex(done.stderr, f"is not trusted: {reason}")
        for way, reason in self.open_to_others(worker):
            with self.subTest(path=worker, way=way):
                done = self.deputy("plugins", "--json", "--config", self.config, **environment)
                (plugin,) = json.loads(done.stdout)["plugins"]
                self.assertEqual(plugin["rule"], "no-worker")
                self.assertRegex(plugin["reason"], f"is not trusted: {reason}")
        # Others that may replace the library have the rights of the process already.
        copy.parent.chmod(0o777)
        importer.chmod(0o777)
        self.assertEqual(self.run_model(**environment).returncode, 0)
        checks = json.loads(self.deputy("doctor", "--json", "--config", self.config, **environment).stdout)["checks"]
        (detail,) = [c["detail"] for c in checks if c["subject"] == "library" and c["state"] == "warning"]
        self.assertRegex(detail, rf"others could replace it: {copy.parent} \(.*{WRITERS}")

    @unittest.skipUnless(ROOT, "another user is needed")
    def test_R161_a_program_with_more_rights_than_its_caller_trusts_no_file_of_the_caller(self):
        config = self.write("own.yaml", "version: 1\ndelegates: []\n")
        os.chown(config, STRANGER, STRANGER)
        program = Path(shutil.copy(ARGS.deputy, self.scratch / "deputy"))
        self.scratch.chmod(0o755)
        for mode, status in ((0o755, 0), (0o2755, 2), (0o4755, 2)):
            os.chown(program, STRANGER + 1 if mode == 0o4755 else 0, STRANGER + 1)
            program.chmod(mode)
            done = subprocess.run([program, "config", "show", "--config", config], capture_output=True, text=True,
                                  user=STRANGER, group=STRANGER, extra_groups=[], env={})  # fmt: skip
            self.assertEqual(done.returncode, status, (oct(mode), done.stdout, done.stderr))
            if status == 2:
                self.assertIn(f"belongs to user {STRANGER}", done.stderr)
            done = subprocess.run([program, "config", "show", "--config", "cpu-only", "--set", "plugins.trust=any"],
                                  capture_output=True, text=True, user=STRANGER, group=STRANGER, extra_groups=[],
                                  env={})  # fmt: skip
            self.assertEqual(done.returncode, status, (oct(mode), done.stdout, done.stderr))
            if status == 2:
                self.assertIn("--set plugins.trust: is refused in a program with more rights than its caller", done.stderr)


if __name__ == "__main__":
    main()
