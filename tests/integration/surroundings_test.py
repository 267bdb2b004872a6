#!/usr/bin/env python3
"""Unfavourable surroundings: closed descriptors, no home, a full disk, limits of the system, one CPU, signals. The
program gives the right answer, or an error with its reason; a signal never ends it, and no worker process is left.

  surroundings_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import contextlib
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import onnx_bytes
from fault_run import ANSWER, FaultRun, processes_with
from waiting import eventually

USER = 54321  # that no process has
# A folder becomes read-only and keeps its files, which may be those of this tree and build.
READ_ONLY = "mount --bind {0} {0} && {{ mount -o remount,bind,ro {0} || mount -o remount,bind,ro,nosuid,nodev {0}; }}"
MOUNTS = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "sh", "-c"]


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def needs_mounts(test):
    probe = subprocess.run([*MOUNTS, "mount -t tmpfs none /mnt"], capture_output=True)
    return unittest.skipIf(probe.returncode != 0, "no mounts of its own")(test)


def state_of(process):
    """The letter of proc_pid_stat(5); None: there is no such process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


class Surroundings(FaultRun):
    def test_closed_descriptors_receive_no_file(self):
        # Files and channels get the lowest free numbers, and messages would be written into them.
        for count in (1, 2, 3):
            for closed in itertools.combinations((0, 1, 2), count):
                with self.subTest(closed=closed):
                    folder = self.scratch / "out"
                    done = self.run_it(self.command("--output-dir", folder), lambda: [os.close(one) for one in closed])
                    self.assertEqual(done.returncode, 5 if 1 in closed else 0, done.stdout + done.stderr)
                    self.assertEqual((folder / "y.npy").read_bytes()[-len(ANSWER) :], ANSWER)
                    shutil.rmtree(folder)
                    self.right(self.run_it(self.command()))

    def test_without_a_home_nothing_is_cached_and_the_answer_is_right(self):
        for home in (None, "", "/nonexistent", "/proc", "relative", str(self.model)):
            with self.subTest(home=home):
                environment = self.environment()
                del environment["HOME"]
                if home is not None:
                    environment["HOME"] = home
                self.right(self.run_it(self.command(), environment=environment))
                self.assertFalse(Path("relative").exists())

    @needs_mounts
    def test_without_a_folder_for_temporary_files(self):
        folders = " && ".join(READ_ONLY.format(folder) for folder in ("/tmp", "/dev/shm"))
        closed = "! touch /tmp/deputy-test 2>/dev/null && ! touch /dev/shm/deputy-test 2>/dev/null"
        shell = f'{folders} && {closed} && exec "$@"'
        environment = self.environment(TMPDIR="/nonexistent")
        self.right(self.run_it([*MOUNTS, shell, "sh", *self.command()], environment=environment))

    @needs_mounts
    def test_a_full_disk_costs_the_cache_and_no_answer(self):
        self.add("able")
        disk = self.scratch / "disk"
        disk.mkdir()
        shell = f'mount -t tmpfs -o size=16k none {disk} && head -c 1M /dev/zero >{disk}/full; "$@"; s=$?; ls {disk}; exit $s'
        full = [*MOUNTS, shell, "sh"]
        for plugin in ("able", "misbehaves"):
            with self.subTest(plugin):
                config = self.config(plugin, disk / "cache", more=", required: true")
                done = self.run_it([*full, *self.command(config=config)])
                self.right(done)
                self.assertIn("warning", done.stderr)
        done = self.run_it([*full, *self.command("--output-dir", disk / "out")])
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("error: ", done.stderr)

    @needs_mounts
    def test_a_read_only_disk_costs_the_cache_and_no_answer(self):
        self.add("able")
        disk = self.scratch / "disk"
        disk.mkdir()
        shell = f'mount -t tmpfs -o ro,mode=700 none {disk} && exec "$@"'
        for folder in (disk, disk / "cache", disk / "more" / "cache"):
            with self.subTest(folder):
                config = self.config("able", folder, more=", required: true")
                done = self.run_it([*MOUNTS, shell, "sh", *self.command(config=config)])
                self.right(done)
                self.assertEqual(done.stderr.count("Read-only file system"), 1, done.stderr)

    def test_a_limit_of_file_sizes_costs_the_cache_and_no_answer(self):
        self.add("able")

        def limited(size, handling):
            signal.signal(signal.SIGXFSZ, handling)  # by default it ends a program
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        for size, handling in itertools.product((0, 1, 100), (signal.SIG_IGN, signal.SIG_DFL)):
            with self.subTest(size, handling=handling):
                # Shared memory has the limit, too, so that a worker process may not be there either.
                config = self.config("able", self.scratch / f"cache{size}{handling.name}")
                done = self.run_it(self.command(config=config), lambda: limited(size, handling))
                self.right(done)
                self.assertIn("cannot be written", done.stderr)

    def test_few_descriptors_are_an_error_or_enough(self):
        results = {}
        for count in range(3, 40):
            with self.subTest(count):
                results[count] = self.right_or_refused(self.run_it(self.command(), limit(resource.RLIMIT_NOFILE, count)))
        self.assertFalse(results.get(3), "the limit had no effect")
        self.assertTrue(results.get(39), "that many are enough")

    def begins_with(self, size):
        """Whether the program reaches `main` in so much memory: constructors of Debian's libraries may end it before."""
        command, environment = [self.command()[0], "--version"], self.environment(LD_DEBUG="files")
        return "initialize program" in self.run_it(command, limit(resource.RLIMIT_AS, size), environment).stderr

    def test_little_memory_is_an_error_or_enough(self):
        for isolation in ("process", "none"):
            results = {}
            for step in range(30):
                size = int((4 << 20) * 1.2**step)
                with self.subTest(isolation=isolation, size=size):
                    command = self.command("--set", "cpu.threads=2", config=self.config(isolation=isolation))
                    done = self.run_it(command, limit(resource.RLIMIT_AS, size))
                    if done.returncode >= 0 or self.begins_with(size):
                        results[step] = self.right_or_refused(done)
            self.assertFalse(results.get(0), "the limit had no effect")
            self.assertTrue(results.get(29), "that much is enough")

    def with_threads(self, count, *arguments, **how):
        """As a user that has no other process, with threads and processes together up to the count."""

        def few():
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            resource.setrlimit(resource.RLIMIT_NPROC, (count, count))

        return self.run_it(self.command(*arguments, **how), few)

    @unittest.skipIf(os.geteuid() != 0, "another user is needed")
    def test_without_further_threads_and_processes_there_is_an_error_or_an_answer(self):
        for threads in (1, 4):
            for count in range(1, 9):
                with self.subTest(threads=threads, count=count):
                    self.right_or_refused(self.with_threads(count, "--set", f"cpu.threads={threads}"))

    @unittest.skipIf(os.geteuid() != 0, "another user is needed")
    def test_threads_that_cannot_be_started_are_a_warning(self):
        config = self.scratch / "none.yaml"
        config.write_text("version: 1\ncache: {dir: 'off'}\n")
        for count in (1, 2, 3, 4):
            with self.subTest(count):
                done = self.with_threads(count, "--set", "cpu.threads=4", config=config)
                self.right(done)
                warning = f"{count} of 4 threads are used: no further thread can be started"
                self.assertEqual(warning in done.stderr, count < 4, done.stderr)

    def test_one_cpu_is_enough(self):
        cpu = min(os.sched_getaffinity(0))
        done = self.run_it(self.command("--repeat", "300"), lambda: os.sched_setaffinity(0, {cpu}))
        self.right(done)
        self.assertNotIn("warning", done.stderr)

    def test_small_stacks_are_enough_for_long_graphs(self):
        count = 3000
        names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
        nodes = [onnx_bytes.node("Relu", [names[i]], [names[i + 1]], f"n{i}") for i in range(count)]
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        for isolation in ("process", "none"):
            with self.subTest(isolation):
                command = self.command("--set", "cpu.threads=4", config=self.config(isolation=isolation))
                self.right(self.run_it(command, limit(resource.RLIMIT_STACK, 64 << 10)))

    def test_signals_that_the_parent_ignores_or_blocks(self):
        def ignore():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)

        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

        for before in (ignore, block):
            with self.subTest(before.__name__):
                # What has ended a process twice would be kept away from the plugin in the next round.
                command = self.command("--repeat", "3", config=self.config(cache='"off"'))
                self.right(self.run_it(command, before))
                done = self.run_it(command, before, self.environment(FIXTURE_FAULT="execute:segv"))
                self.right(done)
                # The worker itself tells of it where the system discards the status of a child.
                self.assertIn("its worker process was ended by SIGSEGV", done.stderr)

    def test_calls_that_signals_interrupt_go_on(self):
        # A process that is stopped and continued sees EINTR in calls that wait.
        config = self.config(more=", call_timeout: 20s")
        with subprocess.Popen(self.command("--repeat", "2000", config=config), env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:  # fmt: skip
            end = time.monotonic() + 60
            stops = 0
            while running.poll() is None and time.monotonic() < end:
                for process in (running.pid, *map(int, processes_with(f"serve\0{self.plugins}"))):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGSTOP)
                        self.assertTrue(eventually(lambda: state_of(process) in ("T", "Z", "X", None)))
                        os.kill(process, signal.SIGCONT)
                stops += 1
            stdout, stderr = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, stdout + stderr)
        self.assertIn("match", stdout)
        self.assertNotIn("warning", stderr)
        self.assertGreater(stops, 5)

    def test_R125_the_time_of_day_may_jump(self):
        config = self.config(more=", timeout: 10s, call_timeout: 20s")
        environment = self.environment(LD_PRELOAD=self.arguments.jumping_clock)
        for _ in range(3):  # the first fills the cache, whose entries have times
            done = self.run_it(self.command("--repeat", "50", "--timeout", "20s", config=config), environment=environment)
            self.right(done)
            self.assertNotIn("warning", done.stderr)
        faulty = {**environment, "FIXTURE_FAULT": "execute:segv"}
        self.right(self.run_it(self.command("--repeat", "5", config=config), environment=faulty))

    def test_R37_a_chain_of_a_million_nodes(self):
        names = ["x", *(f"v{i}" for i in range(999_999)), "y"]
        nodes = [onnx_bytes.node("Relu", [names[i]], [names[i + 1]]) for i in range(1_000_000)]
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        self.right(self.run_it(self.command("--set", "delegates=[]")))

    def test_R176_memory_of_a_long_chain(self):
        # A million nodes take 1.5 GB; a tenth of them is enough to see it, beside what the program itself takes.
        count = 100_000
        names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
        nodes = [onnx_bytes.node("Relu", [names[i]], [names[i + 1]]) for i in range(count)]
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        chain = onnx_bytes.model(nodes, [x], [y])
        for most, model in ((60_000, self.model.read_bytes()), (60_000 + 1500 * count // 1024, chain)):
            self.model.write_bytes(model)
            command = [self.arguments.deputy, "run", str(self.model), "--config", "cpu-only", "--set", "cache.dir=off"]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                _, status, usage = os.wait4(running.pid, 0)
                running.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(running.returncode, 0)
            self.assertLess(usage.ru_maxrss, most, "kilobytes")

    def test_R176_the_estimate_of_a_long_chain_ends_in_time(self):
        # Work that grows with the square of the nodes takes longer than a call may.
        count = 300_000
        names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
        nodes = [onnx_bytes.node("Relu", [names[i]], [names[i + 1]]) for i in range(count)]
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        chain = self.scratch / "chain.onnx"
        chain.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        for plugin in ("sim_npu", "onednn"):
            config = self.scratch / f"{plugin}.yaml"
            config.write_text(f"version: 1\ndelegates:\n- name: {plugin}\n")
            done = self.run_it([self.arguments.deputy, "run", str(chain), "--config", str(config), "--set",
                                "cache.dir=off"])  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("has not returned", done.stderr)

    def test_a_damaged_quarantine_is_empty_and_written_anew(self):
        self.add("crash_in_constructor")
        cache = self.scratch / "cache"
        config = self.config("crash_in_constructor", cache)
        listing = [self.arguments.deputy, "quarantine", "ls", "--config", config]
        for damage in (lambda data: b"", lambda data: data[: len(data) // 2], lambda data: bytes(len(data)),
                       lambda data: bytes(byte ^ 255 for byte in data)):  # fmt: skip
            self.right(self.run_it(self.command(config=config)))
            listed = self.run_it(listing)
            self.assertIn("crash_in_constructor.so", listed.stdout, listed.stderr)
            for file in cache.iterdir():
                file.write_bytes(damage(file.read_bytes()))
            listed = self.run_it(listing)
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertNotIn("crash_in_constructor.so", listed.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--jumping-clock", required=True)
    FaultRun.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
