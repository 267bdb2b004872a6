#!/usr/bin/env python3
"""Files that decide about code and isolation, where users other than root and the current one may write to them or put
others in their place: locks of plugin folders, libraries of plugins, configurations, placement files.

  trust_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from trust_cases import ARGS, ROOT, STRANGER, WRITERS, Trust, as_user, main


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


class ListsOfPackages(Trust):
    """Lists in SHA256SUMS.d, one of each package, which are a lock together with SHA256SUMS or without it."""

    def setUp(self):
        super().setUp()
        self.lock.unlink()
        self.lists = self.folder / "SHA256SUMS.d"
        self.lists.mkdir(mode=0o755)
        self.list = self.write_lock(self.lists / "misbehaves.sha256")
        self.other = self.lists / "another.sha256"
        self.other.write_text("0" * 64 + "  another.so\n")

    def test_a_list_decides_and_its_removal_leaves_nothing(self):
        self.assertFalse(self.runs_in_worker())
        self.assertIn(f"lock: listed in {self.list}", self.deputy("plugins", "--why", "--config", self.config).stdout)
        self.list.unlink()
        self.isolated(rf"misbehaves.so is not listed in {self.lists}\b(?!,)", self.lists)
        self.other.unlink()
        self.isolated(rf"{self.folder} has no lock \(SHA256SUMS\)")

    def test_the_list_of_the_folder_counts_beside_them(self):
        self.list.rename(self.lock)
        self.assertFalse(self.runs_in_worker())
        self.lock.write_text("0" * 64 + "  misbehaves.so\n")
        self.isolated(f"its SHA-256 is not the one in {self.lock}", self.lock)
        self.lock.write_text("")
        self.isolated(f"misbehaves.so is not listed in {self.lists}, nor in {self.lock}", self.lists)

    def test_files_of_other_names_are_no_lists(self):
        for name in ("misbehaves.sha256.dpkg-new", "misbehaves", "misbehaves.sha256.minisig"):
            with self.subTest(name):
                other = self.list.rename(self.lists / name)
                self.isolated(rf"misbehaves.so is not listed in {self.lists}\b(?!,)", self.lists)
            other.rename(self.list)

    def test_R160_a_list_that_others_may_write_lists_nothing(self):
        for way, reason in self.open_to_others(self.list):
            with self.subTest(way):
                self.isolated(f"is not trusted: {reason}", self.list)
        self.assertFalse(self.runs_in_worker(), "it is trusted again")

    def test_R160_a_folder_of_lists_that_others_may_write_lists_nothing(self):
        for path in (self.lists, self.scratch / "above"):
            for way, reason in self.open_to_others(path):
                with self.subTest(path=path, way=way):
                    self.isolated(f"is not trusted: {reason}", self.lists)
        self.assertFalse(self.runs_in_worker(), "it is trusted again")

    def test_a_bad_list_of_one_package_takes_nothing_from_another(self):
        self.other.write_text("nonsense\n")
        self.assertFalse(self.runs_in_worker())
        self.other.chmod(0o666)
        self.assertFalse(self.runs_in_worker())


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

    def test_one_that_is_a_pipe_is_named_so(self):
        for path in ("/dev/stdin", "/proc/self/fd/0"):
            done = subprocess.run([ARGS.deputy, "config", "show", "--config", path], input="version: 1\n",
                                  env={"DEPUTY_SYSTEM_CONFIG": ""}, capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(f"{path}: is a pipe, not a file", done.stderr)
        with open(self.write("own.yaml", "version: 1\ndelegates: []\n")) as opened:
            done = subprocess.run([ARGS.deputy, "config", "show", "--config", "/dev/stdin"], stdin=opened,
                                  env={"DEPUTY_SYSTEM_CONFIG": ""}, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_plugin_folders_with_two_dots_are_found_as_the_system_does(self):
        (self.scratch / "elsewhere" / "deep").mkdir(parents=True)
        (self.scratch / "link").symlink_to(self.scratch / "elsewhere" / "deep")
        config = self.write("dots.yaml", "version: 1\nplugins: {paths: [link/../../above/plugins, above/../above/plugins]}\n"
                            "delegates: []\n")  # fmt: skip
        folders = json.loads(self.deputy("plugins", "--json", "--config", config).stdout)["folders"]
        self.assertEqual(folders, [f"{self.scratch}/link/../../above/plugins", f"{self.scratch}/above/plugins"])

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


class Libraries(Trust):
    """A plugin that needs helper.so from the folders of its DT_RUNPATH; its manifest does not name it."""

    def setUp(self):
        super().setUp()
        self.plugin.unlink()
        self.plugin = self.folder / "needs_helper.so"
        self.libraries = self.folder / "libraries"  # the sandbox opens no others
        self.theirs = self.scratch / "theirs"
        for folder in (self.libraries, self.theirs):
            folder.mkdir()
        self.helper = Path(shutil.copy(Path(ARGS.fixtures) / "helper.so", self.libraries))
        self.runs_with(self.libraries)
        self.config.write_text(self.text().replace("misbehaves", "needs_helper"))

    def runs_with(self, *folders):
        bytes_ = (Path(ARGS.fixtures) / "needs_helper.so").read_bytes()
        text = ":".join(map(str, folders)).encode() + b"\0"
        at = bytes_.index(b"/fixture/xxxx")
        self.plugin.write_bytes(bytes_[:at] + text + bytes_[at + len(text):])
        self.write_lock(self.lock, "needs_helper.so")

    def listed(self, **environment):
        (plugin,) = [each for each in json.loads(self.deputy("plugins", "--json", "--config", self.config, **environment)
                                                 .stdout)["plugins"] if each["file"] == str(self.plugin)]  # fmt: skip
        return plugin

    def isolated(self, reason, **environment):
        self.assertRegex(self.listed(**environment)["not_listed"], f"others could replace it: {reason}")
        done = self.run_model(**environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"warning: \S+needs_helper.so: runs in a worker process, .*{reason}")
        listed = self.deputy("run", self.model, "--config", self.config, "--set", "plugins.trust=listed", **environment)
        self.assertRegex(listed.stderr, rf"not used \(not-listed\): others could replace it: {reason}")

    def test_those_of_root_and_the_user_alone_are_no_reason(self):
        for folders in ([self.libraries], ["$ORIGIN/absent", "/absent", "$ORIGIN/../plugins/libraries"]):
            self.runs_with(*folders)
            self.assertTrue(self.listed()["listed"], self.listed())
            done = self.run_model()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("worker process", done.stderr)

    def test_R195_a_library_that_others_may_write_isolates(self):
        for way, reason in self.open_to_others(self.helper):
            with self.subTest(way):
                self.isolated(f"its library helper.so: {reason}")
        self.assertTrue(self.listed()["listed"])

    def test_R195_so_does_a_folder_of_libraries(self):
        self.runs_with(self.theirs, self.libraries)
        for folder in (self.theirs, self.libraries):
            for way, reason in self.open_to_others(folder):
                with self.subTest(folder=folder, way=way):
                    self.isolated(f"its library folder {folder}: {reason}")
        self.assertTrue(self.listed()["listed"])

    def test_R195_one_beside_the_plugin_is_judged_although_it_is_in_no_list(self):
        self.runs_with("$ORIGIN")
        beside = Path(shutil.move(self.helper, self.folder))
        for way, reason in self.open_to_others(beside):
            with self.subTest(way):
                self.isolated(f"its library helper.so: {reason}")

    def test_R195_so_are_the_folders_of_the_environment(self):
        self.assertTrue(self.listed(LD_LIBRARY_PATH=str(self.theirs))["listed"])
        self.theirs.chmod(0o777)
        self.isolated(rf"its library folder {self.theirs}: {self.theirs} \(.*{WRITERS}", LD_LIBRARY_PATH=str(self.theirs))

    def test_R195_isolation_none_is_refused(self):
        self.config.write_text(self.config.read_text() + "    isolation: none\n    required: true\n")
        self.assertEqual(self.run_model().returncode, 0)
        self.helper.chmod(0o777)
        done = self.run_model()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"'isolation: none' is refused, because others could replace \S+needs_helper.so: its library")


class Groups(Trust):
    """Files with mode 0664, as umask 002 makes them, of a user and a group of the same number."""

    def setUp(self):
        super().setUp()
        if not ROOT:
            self.skipTest("other users are needed")
        self.scratch.chmod(0o755)
        self.own = self.write("own.yaml", "version: 1\ndelegates: []\n")
        os.chown(self.own, STRANGER, STRANGER)
        self.own.chmod(0o664)

    def show(self, passwd="", group="", as_group=STRANGER, config=None):
        """With these entries in the databases, in a mount namespace of its own."""
        for name, text in (("passwd", passwd), ("group", group)):
            self.write(name, Path(f"/etc/{name}").read_text() + text)
        script = f'mount --bind {self.scratch}/passwd /etc/passwd && mount --bind {self.scratch}/group /etc/group && exec "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *as_user(STRANGER, as_group), ARGS.deputy,
                               "config", "show", "--config", config or self.own],
                              env={"DEPUTY_SYSTEM_CONFIG": "", "COLUMNS": "500"}, capture_output=True, text=True)  # fmt: skip
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("no mount namespaces here: " + done.stderr)
        return done

    def refused(self, shared, **case):
        done = self.show(**case)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(f"group {shared} may write to it; chmod go-w", done.stderr)

    def test_a_private_group_counts_as_its_user(self):
        own = {"passwd": f"eve:x:{STRANGER}:{STRANGER}::/:\n", "group": f"eve:x:{STRANGER}:\n"}
        for case in ({}, own, {**own, "group": f"eve:x:{STRANGER}:eve\n"}):
            done = self.show(**case)
            self.assertEqual(done.returncode, 0, (case, done.stderr))

    def test_R194_not_where_it_is_the_primary_group_of_another(self):
        entry = f"eve:x:{STRANGER}:{STRANGER}::/:\n"
        other = f"mallory:x:{STRANGER + 1}:{STRANGER}::/:\n"
        self.refused(STRANGER, passwd=entry + other, group=f"eve:x:{STRANGER}:\n")
        self.refused(STRANGER, passwd=other)

    def test_R194_not_where_it_has_members_under_any_name(self):
        entry = f"eve:x:{STRANGER}:{STRANGER}::/:\n"
        self.refused(STRANGER, passwd=entry, group=f"eve:x:{STRANGER}:eve,mallory\n")
        self.refused(STRANGER, passwd=entry, group=f"eve:x:{STRANGER}:\nshared:x:{STRANGER}:mallory\n")

    def test_R194_not_group_zero(self):
        shared = self.write("shared.yaml", "version: 1\ndelegates: []\n")
        shared.chmod(0o664)
        for owner, as_group in ((0, STRANGER), (0, 0), (STRANGER, 0)):
            os.chown(shared, owner, 0)
            self.refused(0, as_group=as_group, config=shared)
        done = self.deputy("config", "show", "--config", shared)
        self.assertEqual(done.returncode, 2, "for root neither: " + done.stdout + done.stderr)


class Namespaces(Trust):
    def test_R193_users_that_a_user_namespace_does_not_map_are_not_trusted(self):
        if not ROOT:
            self.skipTest("other users are needed")
        self.scratch.chmod(0o755)
        config = self.write("theirs/c.yaml", self.text())
        for path in (config, config.parent):
            os.chown(path, STRANGER, STRANGER)
        other = STRANGER + 1
        for mapped in ([], ["unshare", "--user", "--map-root-user"], ["unshare", "--user"]):
            with self.subTest(mapped):
                done = subprocess.run([*as_user(other, other, *mapped), ARGS.deputy, "run", self.model, "--config", config],
                                      env={"DEPUTY_SYSTEM_CONFIG": "", "COLUMNS": "500"}, capture_output=True,
                                      text=True)  # fmt: skip
                if "unshare" in done.stderr:
                    self.skipTest("no user namespaces here: " + done.stderr)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, "is not trusted: .*belongs to user " +
                                 ("65534, which stands for all that this user namespace does not map; map its owner"
                                  if mapped else str(STRANGER)))  # fmt: skip


if __name__ == "__main__":
    main()
