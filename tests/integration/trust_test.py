#!/usr/bin/env python3
"""Files that decide about code and isolation, where users other than root and the current one may write to them or put
others in their place: locks of plugin folders, configurations, placement files, bundles, parts of the installation.

  trust_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
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


class Locks(Trust):
    def test_a_lock_of_root_and_the_user_alone_decides_and_is_named(self):
        self.assertFalse(self.runs_in_worker())
        self.assertIn(f"lock: listed in {self.lock}", self.deputy("plugins", "--why", "--config", self.config).stdout)
        (plugin,) = json.loads(self.deputy("plugins", "--json", "--config", self.config).stdout)["plugins"]
        self.assertEqual((plugin["listed"], plugin["lock"], plugin["not_listed"]), (True, str(self.lock), None))
        self.assertIn("lock: not read, because the configuration does not name the plugin",
                      self.deputy("plugins", "--why", "--config", self.config, "--set", "delegates=[]").stdout)
        doctor = json.loads(self.deputy("doctor", "--json", "--config", self.config).stdout)
        self.assertIn((f"lock {self.lock}", "ok"), [(c["subject"], c["state"]) for c in doctor["checks"]])

    def test_R160_a_lock_that_others_may_write_lists_nothing(self):
        for way, reason in self.open_to_others(self.lock):
            with self.subTest(way):
                self.isolated(f"is not trusted: {reason}", self.lock)
        self.assertFalse(self.runs_in_worker(), "it is trusted again")

    def test_R160_a_folder_above_that_others_may_write_isolates(self):
        for way, reason in self.open_to_others(self.scratch / "above"):
            with self.subTest(way):
                self.isolated(f"is not trusted: {reason}", self.lock)
        self.assertFalse(self.runs_in_worker(), "it is trusted again")

    def test_R160_a_plugin_folder_that_others_may_write_is_not_used(self):
        for way, _ in self.open_to_others(self.folder):
            with self.subTest(way):
                done = self.run_model(FIXTURE_FAULT="execute:segv")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("not used (untrusted): plugin folder: ", done.stderr)

    def test_R160_a_link_is_judged_by_the_file_that_it_leads_to(self):
        other = self.scratch / "other"
        other.mkdir()
        real = self.lock.rename(other / "SUMS")
        self.lock.symlink_to(real)
        self.assertFalse(self.runs_in_worker())
        for path in (real, other):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    self.isolated(f"is not trusted: {reason}", self.lock)

    def test_R160_a_plugin_behind_a_link_is_judged_by_where_that_leads(self):
        other = self.scratch / "other"
        (other / "place").mkdir(parents=True)
        real = self.plugin.rename(other / "place" / "misbehaves.so")
        self.plugin.symlink_to(real)
        self.assertFalse(self.runs_in_worker())
        other.chmod(0o777)
        self.isolated(rf"others could replace it: {other} \(owner \d+, mode 0777\): {WRITERS}", self.lock)

    def test_R160_the_folder_above_has_no_say_but_in_a_bundle(self):
        self.lock.unlink()
        above = self.write_lock(self.folder.parent / "SHA256SUMS", "plugins/misbehaves.so")
        self.isolated(rf"{self.folder} has no lock \(SHA256SUMS\)")
        # The layout of an unpacked bundle: its list has its description.
        above.write_text(above.read_text() + "0" * 64 + "  bundle.json\n")
        self.assertFalse(self.runs_in_worker())
        for path in (above, above.parent):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    self.isolated(f"is not trusted: {reason}", above)

    def test_a_sticky_folder_above_is_as_good_as_one_of_its_own(self):
        above = self.folder.parent
        above.chmod(0o1777)
        self.assertFalse(self.runs_in_worker())
        if not ROOT:
            return
        # What is there belongs to another, who could replace it.
        link = above / "link"
        link.symlink_to(self.folder)
        os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
        self.config.write_text(self.text().replace(str(self.folder), str(link)))
        self.isolated(rf"others could replace it: {link} \(owner {STRANGER}, .*belongs to user {STRANGER}", self.lock)

    def test_R160_isolation_none_is_refused_for_what_others_could_replace(self):
        self.config.write_text(self.text(entry="    isolation: none\n    required: true\n"))
        self.assertEqual(self.run_model().returncode, 0)
        self.folder.parent.chmod(0o777)
        done = self.run_model()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, rf"'isolation: none' is refused, because others could replace \S+: \S+above \(.*{WRITERS}")
        self.config.write_text(self.text(plugins=", trust: any"))
        done = self.run_model()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"warning: \S+misbehaves.so: .*above \(.*{WRITERS}.*'trust: any'")

    def test_R160_the_check_of_calls_does_not_bring_it_into_the_process(self):
        self.config.write_text(self.text() + "debug: {check: true}\n")
        self.assertFalse(self.runs_in_worker())
        self.folder.parent.chmod(0o777)
        done = self.run_model(FIXTURE_FAULT="execute:segv")
        self.assertGreater(done.returncode, 0, done.stderr)

    def test_R160_trust_listed_refuses_by_a_lock_that_is_not_trusted(self):
        self.config.write_text(self.text(plugins=", trust: listed"))
        self.assertFalse(self.runs_in_worker())
        self.lock.chmod(0o666)
        (plugin,) = json.loads(self.deputy("plugins", "--json", "--config", self.config).stdout)["plugins"]
        self.assertEqual((plugin["accepted"], plugin["rule"], plugin["lock"]), (False, "not-listed", str(self.lock)))
        self.assertRegex(plugin["reason"], rf"{self.lock}: is not trusted: .*{WRITERS}")


class Configurations(Trust):
    def refused(self, reason, *arguments, **environment):
        """Of each command that reads the configuration."""
        for command in (["run", self.model], ["plugins"], ["config", "check"], ["config", "show"]):
            done = self.deputy(*command, *arguments, **environment)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, f"error: .*: is not trusted: {reason}")

    def test_R161_a_configuration_that_others_may_write_or_replace_is_refused(self):
        config = self.write("place/c.yaml", "version: 1\ndelegates: []\n")
        for path in (config, config.parent):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    self.refused(reason, "--config", config)
        self.assertEqual(self.deputy("config", "show", "--config", config).returncode, 0)

    def test_R161_so_are_those_of_the_system_and_the_user_and_that_of_the_environment(self):
        config = self.write("deputy/deputy.yaml", "version: 1\ndelegates: []\n")
        drop_in = self.write("deputy/conf.d/a.yaml", "version: 1\n")
        for name, value in (("DEPUTY_SYSTEM_CONFIG", config), ("DEPUTY_CONFIG", config), ("XDG_CONFIG_HOME", self.scratch)):
            environment = {"XDG_CONFIG_HOME": str(self.scratch / "none"), "DEPUTY_SYSTEM_CONFIG": "", name: str(value)}
            for path in (config, config.parent, drop_in, drop_in.parent):
                path.chmod(path.stat().st_mode | 0o002)
                with self.subTest(name, path=path):
                    done = subprocess.run([ARGS.deputy, "config", "show"], env={**os.environ, **environment},
                                          capture_output=True, text=True)  # fmt: skip
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertRegex(done.stderr, rf"is not trusted: {path} \(owner \d+, mode \d+\): {WRITERS}; chmod go-w {path}")
                path.chmod(path.stat().st_mode & ~0o002)

    def test_R161_a_folder_of_drop_ins_counts_without_any(self):
        (self.scratch / "conf.d").mkdir()
        (self.scratch / "conf.d").chmod(0o777)
        self.refused(rf"{self.scratch}/conf.d \(owner \d+, mode 0777\): {WRITERS}", "--config", self.config)

    def test_R161_a_configuration_does_not_vouch_for_itself(self):
        self.config.write_text(self.text(plugins=", trust: any"))
        self.config.chmod(0o666)
        self.refused(f"{self.config} .*{WRITERS}", "--config", self.config)
        self.refused(f"{self.config} .*{WRITERS}", "--config", self.config, "--set", "plugins.trust=any")

    def test_one_of_the_user_in_a_sticky_folder_is_used(self):
        shared = self.scratch / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        config = self.write("shared/c.yaml", "version: 1\ndelegates: []\n")
        self.assertEqual(self.deputy("config", "show", "--config", config).returncode, 0)
        link = shared / "link.yaml"
        link.symlink_to(config)
        self.assertEqual(self.deputy("config", "show", "--config", link).returncode, 0)
        if ROOT:
            os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
            self.refused(rf"{link} \(owner {STRANGER}", "--config", link)

    def test_R161_a_placement_file_that_others_may_write_is_not_used(self):
        config = self.write("p.yaml", "version: 1\nplacement: {policy: measured}\ndelegates: []\n")
        placement = self.write("m.onnx.placement.yaml", "version: 1\n")
        self.assertIn("key 'model' is missing", self.deputy("run", self.model, "--config", config).stderr)
        for way, reason in self.open_to_others(placement):
            with self.subTest(way):
                done = self.deputy("run", self.model, "--config", config)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, f"warning: .*is not trusted: {reason}.*; the placement file is not used")


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

    def test_R161_a_public_key_that_others_may_write_checks_nothing(self):
        self.good("bundle", "keygen", "-o", self.scratch / "k")
        key = self.scratch / "k.pub"
        for way, reason in self.open_to_others(key):
            with self.subTest(way):
                done = self.deputy("bundle", "install", self.bundle, "--key", key, "--root", self.root)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, f"is not trusted: {reason}")


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
