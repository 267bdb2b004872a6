#!/usr/bin/env python3
"""A plugin in a worker process can do nothing beyond computing: the fixture "escapes" tries it.

  sandbox_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import ctypes
import errno
import json
import os
import platform
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
# Of the attempts of the fixture, those that succeed for an ordinary user on any system without a sandbox.
ORDINARY = {
    "reads_file", "reads_by_link", "reads_passwords", "writes_file", "cuts_file", "makes_file", "makes_folder",
    "makes_link", "renames_file", "removes_file", "changes_mode", "changes_owner", "changes_time", "connects", "listens",
    "opens_local_socket", "executes", "forks", "signals_host", "signals_all", "signals_by_descriptor",
    "signals_by_owner", "outlives_host", "shares_memory", "shares_semaphore", "shares_queue",
    "makes_memory_file", "shares_anonymous", "maps_downwards", "shares_zeros", "enlarges_pipe", "pairs_sockets",
    "locks_ranges", "sets_policy", "sets_parameters", "sets_attributes", "sets_niceness", "sets_input_priority",
    "sets_limits", "may_gain_privileges", "becomes_traceable", "changes_user", "forks_anew", "opens_anew",
    "has_secret_variable", "reads_secret_of_start", "reads_secret_of_host", "reads_command_of_host", "reads_mounts",
    "reads_connections", "reads_own_environment_file", "writes_own_memory", "reads_group_of_host",
    "reads_niceness_of_host", "reads_niceness_of_user", "reads_policy_of_host", "reads_parameters_of_host",
    "reads_processors_of_host", "reads_slice_of_host", "reads_attributes_of_host", "reads_times_of_host",
    "reads_capabilities_of_host",
}  # fmt: skip
# Without a listener the filter cannot tell threads of the plugin from those of others. Of these calls, which the C
# library makes, each passes then; the times of single threads are refused.
WITHOUT_LISTENER = {"reads_policy_of_host", "reads_parameters_of_host", "reads_processors_of_host",
                    "lacks_times_of_threads"}  # fmt: skip
# Those that Landlock alone stops: files that the user can read. For writing, the filter lets none be opened without it.
OF_FILES = {
    "reads_file", "reads_by_link", "reads_passwords", "reads_environment", "reads_memory_file", "reads_secret_of_host",
    "reads_command_of_host", "reads_mounts", "reads_connections", "reads_own_environment_file",
}  # fmt: skip
# Those that a plugin with devices can do without Landlock: files that exist and that the user can write.
TO_WRITE = {"writes_file", "shares_zeros", "writes_own_memory"}
SECRET = "correct-horse-battery"


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


def _enforce(*instructions):
    """In a child, before it starts a program: a filter of system calls for it and all that it starts."""
    program = (_Instruction * len(instructions))(*(_Instruction(*parts) for parts in instructions))
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + 4 * [ctypes.c_void_p]
    if prctl(no_new_privileges, 1, None, None, None) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if prctl(set_seccomp, filter_mode, ctypes.addressof(_Program(len(program), program)), None, None) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


LOAD, IF_EQUAL, IF_SET, GIVE = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SECCOMP = {"x86_64": 317, "aarch64": 277}.get(platform.machine())


def without_landlock():
    """As on a kernel that has none."""
    create_ruleset = 444
    _enforce((LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, create_ruleset), (GIVE, 0, 0, FAIL | errno.ENOSYS), (GIVE, 0, 0, ALLOW))


def without_listener():
    """As in a container that lets no process listen to refused calls."""
    flags, new_listener = 24, 8  # of the second argument
    _enforce((LOAD, 0, 0, 0), (IF_EQUAL, 0, 3, SECCOMP), (LOAD, 0, 0, flags), (IF_SET, 0, 1, new_listener),
             (GIVE, 0, 0, FAIL | errno.EBUSY), (GIVE, 0, 0, ALLOW))  # fmt: skip


DEVICE = "nvidia0"  # of the plugin escapes_with_devices


def _with_device(scratch):
    """For a child before it starts a program: /dev has a device of that name, which is the null device."""
    folder = Path(scratch) / "dev"
    folder.mkdir(exist_ok=True)
    for name in ("null", "zero", "full", "random", "urandom", DEVICE):
        (folder / name).touch()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p]
    new_mounts, bind, private, all_below = 0x20000, 4096, 1 << 18, 16384

    def mount(source, target, flags):
        if libc.mount(os.fsencode(source), os.fsencode(target), None, flags, None) != 0:
            raise OSError(ctypes.get_errno(), f"mount {target}")

    def prepare():
        if libc.unshare(new_mounts) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        mount("none", "/", private | all_below)
        for path in folder.iterdir():
            mount(Path("/dev") / (path.name if path.name != DEVICE else "null"), path, bind)
        mount(folder, "/dev", bind | all_below)

    return prepare


class Sandbox(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        (self.scratch / "plugins").mkdir()
        (self.scratch / "plugins" / "data").write_text("of the plugin")
        (self.scratch / "private").mkdir()
        (self.scratch / "private" / "secret").write_text("secret")
        for fixture in ("escapes", "escapes_with_devices", "good", "needs_socket", "calls_another_abi", "holds_memory"):
            shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", self.scratch / "plugins")
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "m.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y]))

    def deputy(self, command, *arguments, sandbox="true", plugin="escapes, required: true", prepare=None, status=0, **env):
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}/plugins], sandbox: {sandbox}}}\n"
                          "cache: {dir: 'off'}\nlog: {level: debug}\n"
                          f"delegates: [{{name: {plugin}, isolation: process}}]\n")  # fmt: skip
        environment = {**os.environ, "FIXTURE_ESCAPE": str(self.scratch / "private"), "FIXTURE_SECRET": SECRET, **env}
        done = subprocess.run([ARGS.deputy, command, *arguments, "--config", config], env=environment,
                              capture_output=True, text=True, timeout=60, preexec_fn=prepare)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def runs(self, plugin, **how):
        """The log of a run whose answer is right, whatever the plugin does."""
        (self.scratch / "x.raw").write_bytes(struct.pack("<6f", 1, -2, 3, -4, 5, -6))
        (self.scratch / "y.raw").write_bytes(struct.pack("<6f", 1, 0, 3, 0, 5, 0))
        done = self.deputy("run", self.model, "--input", f"x={self.scratch}/x.raw", "--expect",
                           f"y={self.scratch}/y.raw", "--rtol", "0", "--atol", "0", plugin=plugin, **how)  # fmt: skip
        self.assertEqual(done.stdout.count("match"), 1, done.stdout)
        return done.stderr

    def escapes(self, sandbox, **how):
        """Names of the attempts that succeeded, of all processes; checks that the plugin tried in each."""
        log = self.deputy("run", self.model, sandbox=sandbox, **how).stderr
        lines = re.findall(r"escapes in (load|run): (\w+)", log)
        self.assertIn(("load", "tried"), lines)
        self.assertIn(("run", "tried"), lines)
        return {(stage, name) for stage, name in lines if name != "tried"}

    def level(self):
        checks = json.loads(self.deputy("doctor", "--json").stdout)["checks"]
        return next(check["detail"] for check in checks if check["subject"] == "sandbox")

    def test_a_plugin_in_the_sandbox_can_do_none_of_it(self):
        level = self.level()
        self.assertIn("seccomp", level)
        allowed = {name for _, name in self.escapes("true")}
        self.assertEqual(allowed - (set() if "Landlock" in level else OF_FILES), set())
        self.assertEqual((self.scratch / "private" / "secret").read_text(), "secret")

    def test_without_landlock_it_can_read_files_and_nothing_else(self):
        allowed = {name for _, name in self.escapes("true", prepare=without_landlock)}
        self.assertEqual(allowed - OF_FILES, set())
        self.assertIn("reads_file", allowed)
        self.assertEqual((self.scratch / "private" / "secret").read_text(), "secret")

    def test_R200_a_device_that_is_not_there_gives_no_rights(self):
        if Path("/dev", DEVICE).exists():
            self.skipTest(f"this machine has /dev/{DEVICE}")
        allowed = {name for _, name in self.escapes("true", plugin="escapes_with_devices, required: true")}
        self.assertEqual(allowed - (set() if "Landlock" in self.level() else OF_FILES), set())
        listing = json.loads(self.deputy("plugins", "--json").stdout)
        profiles = {plugin["id"]: plugin["sandbox"] for plugin in listing["plugins"]}
        self.assertEqual(profiles["escapes_with_devices"], "cpu")

    def with_device(self):
        prepare = _with_device(self.scratch)
        try:
            subprocess.run(["/bin/true"], check=True, preexec_fn=prepare)
        except subprocess.SubprocessError:
            self.skipTest("no device can be made here: unit/isolation/device_commands_test.cpp tests the rights")
        return prepare

    def test_R200_with_a_device_it_changes_no_flags_of_files(self):
        prepare = self.with_device()
        listing = json.loads(self.deputy("plugins", "--json", prepare=prepare).stdout)
        profiles = {plugin["id"]: plugin["sandbox"] for plugin in listing["plugins"]}
        self.assertEqual(profiles.pop("escapes_with_devices"), "gpu")
        self.assertEqual(set(profiles.values()), {"cpu"})
        how = {"plugin": "escapes_with_devices, required: true", "prepare": prepare}
        self.assertNotIn("changes_flags", {name for _, name in self.escapes("true", **how)})
        if "changes_flags" not in {name for _, name in self.escapes("false", **how)}:
            self.skipTest("files have no flags here")

    def test_with_devices_it_can_hold_memory_for_drivers_unless_that_is_limited(self):
        prepare = self.with_device()
        in_memory = {"makes_memory_file", "shares_anonymous"}
        of_drivers = {"has_many_pipes"}  # 4096 descriptors
        files = set() if "Landlock" in self.level() else OF_FILES | TO_WRITE
        plugin = "escapes_with_devices, required: true"
        allowed = {name for _, name in self.escapes("true", plugin=plugin, prepare=prepare)}
        self.assertEqual(allowed - in_memory - of_drivers - files, set())
        self.assertLessEqual(in_memory, allowed)
        limited = {name for stage, name in self.escapes("true", plugin=f"{plugin}, memory_limit: 1GB", prepare=prepare)
                   if stage == "run"}  # fmt: skip
        self.assertEqual(limited - of_drivers - files, set())
        def neither():
            prepare()
            without_landlock()

        open_files = {name for _, name in self.escapes("true", plugin=plugin, prepare=neither)}
        self.assertEqual(open_files - in_memory - of_drivers - OF_FILES - TO_WRITE, set())

    def test_without_the_sandbox_it_has_the_rights_of_the_user(self):
        allowed = self.escapes("false")
        self.assertEqual(ORDINARY - {name for stage, name in allowed if stage == "run"}, set())

    def test_R168_memory_that_limits_of_data_do_not_count_ends_the_worker(self):
        for how in ("read_only", "tables"):
            with self.subTest(how):
                log = self.runs("holds_memory, memory_limit: 256MB", FIXTURE_HOLD=how)
                self.assertRegex(log, r"because it held \d+ MB of memory, more than its memory_limit of 256 MB")
                self.assertNotIn("because it held", self.runs("holds_memory, memory_limit: 256MB", FIXTURE_HOLD=""))

    def test_R168_what_the_kernel_holds_for_a_worker_is_limited(self):
        names = {name for _, name in self.escapes("true")}
        self.assertEqual(names & {"makes_memory_file", "shares_anonymous", "shares_validated", "maps_downwards",
                                  "shares_zeros", "shares_name", "makes_nameless_file", "enlarges_pipe",
                                  "has_many_pipes", "pairs_sockets", "locks_ranges", "watches_files",
                                  "makes_many_timers"}, set())  # fmt: skip

    def test_R169_the_refused_call_is_named_where_a_plugin_fails_by_it(self):
        refused = "the sandbox has refused system calls of the plugin: socket (1)"
        done = self.deputy("run", self.model, plugin="needs_socket, required: true", status=4)
        self.assertIn("cannot reach the daemon", done.stderr)
        self.assertIn(refused, done.stderr)
        self.assertIn(refused, self.runs("needs_socket"))
        self.assertNotIn("has refused", self.runs("needs_socket", sandbox="false"))

    def test_R169_refused_calls_of_the_probe_are_listed(self):
        listing = json.loads(self.deputy("plugins", "--json", plugin="needs_socket").stdout)
        calls = {plugin["id"]: plugin["refused_calls"] for plugin in listing["plugins"]}
        self.assertEqual(calls["needs_socket"], ["socket (1)"])
        self.assertEqual(calls["good"], [])
        self.assertIn("refused: socket (1)", self.deputy("plugins", "--why", plugin="needs_socket").stdout)
        self.assertIn("socket (1)", self.deputy("plugins", "needs_socket", plugin="needs_socket").stdout)
        names = json.loads(self.deputy("plugins", "--json").stdout)["plugins"]
        names = {call.split()[0] for plugin in names for call in plugin["refused_calls"]}
        self.assertLessEqual({"memfd_create", "execve", "ptrace", "setpriority", "sched_setattr", "mmap", "fcntl"}, names)

    def test_R169_without_a_listener_calls_are_refused_unnamed(self):
        allowed = {name for _, name in self.escapes("true", prepare=without_listener)}
        self.assertEqual(allowed - WITHOUT_LISTENER - (set() if "Landlock" in self.level() else OF_FILES), set())
        log = self.runs("needs_socket", prepare=without_listener)
        self.assertIn("cannot reach the daemon", log)
        self.assertNotIn("has refused", log)

    def test_R169_a_flood_of_refused_calls_is_neither_a_hang_nor_a_failure(self):
        log = self.runs("needs_socket", FIXTURE_ASKS="1000000")
        self.assertNotIn("cannot reach the daemon", log)

    def test_R169_a_call_of_another_abi_ends_the_process(self):
        if platform.machine() != "x86_64":
            self.skipTest("this machine has no other ABI")
        self.assertNotIn("SIGSYS", self.runs("calls_another_abi"))
        for abi in ("x32", "i386"):
            with self.subTest(abi):
                # From a second thread: all of the process ends.
                self.assertIn("was ended by SIGSYS: a system call of an ABI", self.runs("calls_another_abi", FIXTURE_ABI=abi))

    def test_R170_a_worker_keeps_its_scheduling_and_has_no_privileges(self):
        names = {name for _, name in self.escapes("true")}
        self.assertEqual(names & {"sets_policy", "sets_parameters", "sets_attributes", "sets_real_time", "sets_niceness",
                                  "sets_input_priority", "sets_limits", "pins_host", "slows_host", "has_capabilities",
                                  "may_gain_privileges", "becomes_traceable", "changes_user"}, set())  # fmt: skip

    def test_R170_no_process_of_a_sandbox_sees_a_secret_of_the_environment(self):
        names = {name for _, name in self.escapes("true")}
        self.assertEqual({name for name in names if "secret" in name or "environment" in name} - OF_FILES, set())
        if "Landlock" in self.level():
            self.assertEqual(names & {"reads_mounts", "reads_connections", "reads_command_of_host",
                                      "reads_own_environment_file", "reads_secret_of_host"}, set())  # fmt: skip

    def test_R199_a_plugin_reads_nothing_of_other_processes_and_all_of_its_own(self):
        for how in ({}, {"plugin": "escapes_with_devices, required: true"}):
            names = {name for _, name in self.escapes("true", **how)}
            self.assertEqual({name for name in names if "_of_host" in name or "_of_user" in name} - OF_FILES, set())
            self.assertEqual(names & {"lacks_its_threads", "lacks_times_of_threads"}, set())
        names = {name for _, name in self.escapes("false")}
        self.assertEqual(names & {"lacks_its_threads", "lacks_times_of_threads"}, set())

    def test_the_probe_is_in_the_sandbox_as_well(self):
        lines = re.findall(r"escapes in load: (\w+)", self.deputy("plugins").stderr)
        self.assertEqual(set(lines) - ({"tried"} if "Landlock" in self.level() else {"tried", *OF_FILES}), set())
        self.assertIn("reads_file", self.deputy("plugins", sandbox="false").stderr)

    def test_the_rights_of_a_plugin_are_shown(self):
        listing = json.loads(self.deputy("plugins", "--json").stdout)
        profiles = {plugin["id"]: plugin["sandbox"] for plugin in listing["plugins"]}
        self.assertEqual(set(profiles.values()), {"cpu"})  # there is no device for the one that names some
        listing = json.loads(self.deputy("plugins", "--json", sandbox="false").stdout)
        self.assertEqual({plugin["sandbox"] for plugin in listing["plugins"]}, {"user"})
        self.assertIn("sandbox: cpu", self.deputy("plugins", "--why").stdout)
        self.assertRegex(self.deputy("plugins", "escapes", sandbox="false").stdout, "sandbox +none, the rights of the user")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
