#!/usr/bin/env python3
"""Plugins with `isolation: process`: a fault of the plugin costs time, but neither the answer nor the program.

  isolation_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes
from fault_run import processes_with

ARGS = None
# Calls of a plugin, in their order. Those of LOADING fail the delegate, the others cost it at most the partition.
LOADING = ("load", "query", "init", "probe", "open")
PLACING = ("query_support", "compile", "context_create")
RUNNING = ("execute", "parallel")
TEARDOWN = ("context_destroy", "executable_destroy", "close", "shutdown", "atexit", "destructor")
ENDS = ("exit", "quick_exit", "_exit", "segv", "abort", "fpe", "bus", "ill", "overflow", "kill", "close", "garble",
        "thread_exit", "thread_segv")  # fmt: skip
HANGS = ("hang", "spin", "stop")
# How a report begins about the plugin.
LABEL = "plugin misbehaves (misbehaves.so, in a worker process)"


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


class Isolation(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        (self.scratch / "plugins").mkdir()
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "m.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y]))
        (self.scratch / "x.raw").write_bytes(floats([1, -2, 3, -4, 5, -6]))
        (self.scratch / "y.raw").write_bytes(floats([1, 0, 3, 0, 5, 0]))

    def config(self, fixture="misbehaves", keys="", sandbox="true"):
        shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", self.scratch / "plugins")
        path = self.scratch / "c.yaml"
        path.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}/plugins], sandbox: {sandbox}}}\ncache: {{dir: 'off'}}\n"
                        f"delegates:\n  - name: {fixture}\n    isolation: process\n{keys}")  # fmt: skip
        return path

    def deputy(self, *arguments, fault=None, once=None, after=None):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("FIXTURE_FAULT", "FIXTURE_ONCE", "FIXTURE_AFTER", "DEPUTY_CHECK")}  # fmt: skip
        if after is not None:
            environment["FIXTURE_AFTER"] = str(after)
        if fault is not None:
            environment["FIXTURE_FAULT"] = fault
        if once is not None:
            environment["FIXTURE_ONCE"] = str(once)
        done = subprocess.run([ARGS.deputy, *arguments], env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(processes_with(str(self.scratch)), [], f"{fault}: {done.stderr}")
        return done

    def run_model(self, config, *arguments, **how):
        return self.deputy("run", self.model, "--config", config, "--rtol", "0", "--atol", "0", "--input",
                           f"x={self.scratch}/x.raw", "--expect", f"y={self.scratch}/y.raw", *arguments, **how)  # fmt: skip

    def right(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("match"), 1, done.stdout)

    def test_without_a_fault_the_delegate_runs_the_model(self):
        done = self.run_model(self.config(keys="    required: true\n"), "--repeat", "3")
        self.right(done)
        self.assertNotIn("warning", done.stderr)
        self.assertIn("misbehaves", done.stderr)

    def test_a_fault_while_the_plugin_is_opened_costs_the_delegate(self):
        for stage in LOADING:
            for kind in ENDS:
                with self.subTest(stage=stage, kind=kind):
                    done = self.run_model(self.config(), fault=f"{stage}:{kind}")
                    self.right(done)
                    self.assertIn("misbehaves", done.stderr)
        done = self.run_model(self.config(keys="    required: true\n"), fault="open:abort")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"{LABEL}: open: its worker process was ended by SIGABRT", done.stderr)

    def test_a_fault_in_any_other_call_costs_no_answer(self):
        config = self.config()
        for stage in PLACING + RUNNING + TEARDOWN:
            for kind in ENDS:
                with self.subTest(stage=stage, kind=kind):
                    done = self.run_model(config, "--repeat", "4", fault=f"{stage}:{kind}")
                    self.right(done)
                    if stage in PLACING + RUNNING:
                        self.assertIn(LABEL, done.stderr)
                        self.assertIn("its worker process", done.stderr)

    def test_a_call_that_hangs_costs_its_limit_and_no_answer(self):
        config = self.config(keys="    timeout: 200ms\n    call_timeout: 400ms\n")
        for stage in LOADING + PLACING + RUNNING + TEARDOWN:
            for kind in HANGS:
                with self.subTest(stage=stage, kind=kind):
                    done = self.run_model(config, fault=f"{stage}:{kind}")
                    self.right(done)

    def test_R163_faults_without_end_are_some_lines(self):
        done = self.run_model(self.config(keys="    call_timeout: 2s\n"), fault="progress:wrong")
        self.right(done)
        self.assertIn("did not answer a call within 2000 ms", done.stderr)
        self.assertIn("a step of its progress is not UTF-8", done.stderr)
        self.assertLess(done.stderr.count("broke its contract"), 1500)
        self.assertRegex(done.stderr, "dropped [0-9]+ of its lines")

    def test_R171_a_hang_without_a_limit_in_the_configuration_costs_no_answer(self):
        # The first run has the limit of a call, if that is not less than 5 s; later ones have 5 s after short runs.
        config = self.config(keys="    call_timeout: 400ms\n", sandbox="false")
        done = self.run_model(config, fault="execute:hang")
        self.right(done)
        self.assertIn("execute: its worker process did not end a run within 5000 ms", done.stderr)
        done = self.run_model(config, "--repeat", "5", fault="execute:hang", after=4)
        self.right(done)
        self.assertIn("execute: its worker process did not end a run within 5000 ms", done.stderr)
        shown = self.deputy("config", "show", "--config", config).stdout
        self.assertIn("timeout: auto  # default", shown)

    def test_the_run_after_a_fault_is_the_delegates_again(self):
        # The fixture notes in a file that the fault has been.
        # Limits for hangs alone: a loaded machine may need longer for a call.
        unlimited = self.config(sandbox="false")
        limited = self.config(keys="    timeout: 1s\n    call_timeout: 2s\n", sandbox="false")
        for stage in RUNNING:
            for kind in ENDS + HANGS:
                config = limited if kind in HANGS else unlimited
                with self.subTest(stage=stage, kind=kind):
                    once = self.scratch / f"{stage}.{kind}"
                    done = self.run_model(config, "--repeat", "5", fault=f"{stage}:{kind}", once=once)
                    self.right(done)
                    self.assertTrue(once.exists())
                    # Garbage in the shared memory may read as the reply of a call that failed.
                    self.assertRegex(done.stderr, "was started again" + ("|from now on" if kind == "garble" else ""))

    def test_a_partition_that_ends_its_process_twice_in_a_row_is_given_to_the_next_delegate(self):
        done = self.run_model(self.config(), "--repeat", "5", fault="execute:segv")
        self.right(done)
        self.assertRegex(done.stderr, "for the second time in a row: .*was ended by SIGSEGV.*; cpu runs it from now on")
        self.assertEqual(done.stderr.count("was started again"), 1, done.stderr)

    def test_memory_beyond_the_limit_costs_no_answer(self):
        for limit, warns in (("256MB", True), ("2GB", False), ("0B", False)):
            with self.subTest(limit):
                done = self.run_model(self.config(keys=f"    memory_limit: {limit}\n"), fault="execute:allocate")
                self.right(done)
                self.assertEqual("its worker process was ended by SIGABRT" in done.stderr, warns, done.stderr)

    def test_a_limit_without_isolation_is_refused(self):
        for key, value in (("timeout", "1s"), ("memory_limit", "1GB"), ("spin", "0us"), ("call_timeout_total", "1min")):
            config = self.config(keys=f"    {key}: {value}\n")
            self.deputy("config", "check", config)
            config.write_text(config.read_text().replace("isolation: process\n", "isolation: none\n"))
            done = self.deputy("config", "check", config)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn("has no effect with isolation: none", done.stdout + done.stderr)

    def test_a_call_that_hangs_in_this_process_is_named(self):
        hanging = self.config(keys="    call_timeout: 300ms\n")
        hanging.write_text(hanging.read_text().replace("isolation: process\n", "isolation: none\n") +
                           "debug: {abort_on_hang: true}\n")  # fmt: skip
        for stage, place in (("compile", "compile: "), ("open", "open: ")):
            done = self.deputy("run", self.model, "--config", hanging, fault=f"{stage}:hang")
            self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
            self.assertIn("plugin misbehaves (misbehaves.so): " + place, done.stderr)
            self.assertIn("has not returned for 300 ms", done.stderr)
        # A report alone ends nothing.
        reported = self.scratch / "reported.yaml"
        reported.write_text(hanging.read_text().replace("abort_on_hang: true", "abort_on_hang: false"))
        with subprocess.Popen([ARGS.deputy, "run", self.model, "--config", reported], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "FIXTURE_FAULT": "compile:hang"}) as running:  # fmt: skip
            for line in running.stderr:
                if "has not returned for 300 ms" in line:
                    break
            self.assertIsNone(running.poll())
            running.kill()

    def survives(self, config):
        """Whether the program survives a plugin that crashes; checks the answer then."""
        done = self.run_model(config, fault="execute:segv")
        if done.returncode == 0:
            self.right(done)
        return done.returncode == 0

    def lock(self, digest=None):
        """A lock of the folder that lists the plugin, with this digest instead of its own."""
        plugin = self.scratch / "plugins" / "misbehaves.so"
        lock = plugin.with_name("SHA256SUMS")
        lock.write_text(f"{digest or hashlib.sha256(plugin.read_bytes()).hexdigest()}  {plugin.name}\n")
        return lock

    def test_auto_isolates_what_no_lock_lists(self):
        for word in ("isolation: auto", "required: false"):  # the default
            config = self.config()
            config.write_text(config.read_text().replace("isolation: process", word))
            self.assertTrue(self.survives(config))
            self.lock()
            self.assertFalse(self.survives(config))
            lock = self.lock("0" * 64)
            self.assertTrue(self.survives(config))
            lock.unlink()
            config.write_text(config.read_text().replace("plugins: {", "plugins: {trust: any, "))
            self.assertFalse(self.survives(config))

    def test_a_limit_isolates_a_listed_plugin(self):
        config = self.config(keys="    memory_limit: 2GB\n")
        config.write_text(config.read_text().replace("isolation: process", "isolation: auto"))
        self.lock()
        self.assertTrue(self.survives(config))

    def test_the_plan_names_the_worker_process(self):
        done = self.deputy("partition", self.model, "--config", self.config(), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (node,) = json.loads(done.stdout)["nodes"]
        self.assertEqual(node["delegate"], "misbehaves")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
