#!/usr/bin/env python3
"""Plugins that misbehave in the program's own process: what a user of `deputy` sees of them.

  plugin_faults_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import ScratchCase

ARGS = None
INT64 = 7
# Stage of the fixture: how the line that reports it goes on behind the plugin's name.
LOADING = {
    "load": "load: ",
    "query": "deputy_plugin_query_v1: ",
    "init": "init: ",
    "probe": "probe: ",
    "open": "open: ",
    "query_support": "query_support: ",
    "compile": "compile: node 'first' (Relu): ",
    "context_create": "context_create: node 'first' (Relu): ",
}
RUNNING = {"execute": "execute: node 'first' (Relu): ", "parallel": "execute: node 'first' (Relu): "}
TEARDOWN = {
    "context_destroy": "context_destroy: node 'first' (Relu): ",
    "executable_destroy": "executable_destroy: node 'first' (Relu): ",
    "close": "close: ",
    "shutdown": "shutdown: ",
}
AT_EXIT = {"atexit": "outside of all calls: ", "destructor": "outside of all calls: "}


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


class PluginFaults(ScratchCase):
    def use(self, fixture, trust="probe"):
        plugins = self.scratch / "plugins"
        plugins.mkdir(exist_ok=True)
        shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", plugins)
        self.config = self.file("c.yaml", f"version: 1\nplugins: {{paths: [{plugins}], trust: {trust}}}\n"
                                 f"delegates: [{{name: {fixture}, required: true, isolation: none}}]\n")  # fmt: skip

    def model(self, nodes, inputs, outputs):
        self.model_file = self.file("m.onnx", onnx_bytes.model(nodes, inputs, outputs))

    def relu(self):
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model([onnx_bytes.node("Relu", ["x"], ["y"], "first")], [x], [y])
        self.values = {"x": floats([1, -2, 3, -4, 5, -6]), "y": floats([1, 0, 3, 0, 5, 0])}

    def run_model(self, *arguments, fault=None, check=None):
        """With the inputs of self.values, and their outputs expected to the last bit."""
        environment = {k: v for k, v in os.environ.items() if k not in ("FIXTURE_FAULT", "DEPUTY_CHECK")}
        if fault is not None:
            environment["FIXTURE_FAULT"] = fault
        if check is not None:
            environment["DEPUTY_CHECK"] = check
        command = [ARGS.deputy, "run", self.model_file, "--config", self.config, "--rtol", "0", "--atol", "0"]
        for name, data in self.values.items():
            file = self.file(f"{name}.raw", data)
            command += ["--expect" if name.startswith("y") else "--input", f"{name}={file}"]
        return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=100)

    def named(self, done, where):
        line = f"deputy: error: plugin misbehaves (misbehaves.so): {where}"
        self.assertIn(line, done.stderr)

    def finished(self, done):
        self.assertEqual(done.stdout.count("match"), 1, done.stdout)
        self.assertIn("time ", done.stdout)

    def test_without_a_fault_the_fixture_is_sound(self):
        self.relu()
        self.use("misbehaves")
        done = self.run_model()
        self.assertEqual((done.returncode, "error" in done.stderr), (0, False), done.stderr)
        self.finished(done)

    def test_exit_in_any_call_is_status_4_with_the_calls_name(self):
        self.relu()
        self.use("misbehaves", trust="any")  # its probe is called here, too
        for stage, where in {**LOADING, **RUNNING}.items():
            for kind in ("exit", "quick_exit", "_exit"):
                with self.subTest(stage=stage, kind=kind):
                    if kind == "_exit" and ARGS.sanitize:
                        continue
                    done = self.run_model(fault=f"{stage}:{kind}")
                    self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                    self.named(done, where + "it ended the process")
                    self.assertNotIn("match", done.stdout)

    def test_exit_of_a_thread_of_the_plugins_own_is_status_4_with_its_name(self):
        self.relu()
        self.use("misbehaves")
        for kind in ("thread_exit", "thread__exit"):
            if kind == "thread__exit" and ARGS.sanitize:
                continue
            done = self.run_model(fault=f"execute:{kind}")
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.named(done, "outside of all calls: it ended the process")

    def test_exit_at_teardown_loses_nothing_that_is_finished(self):
        self.relu()
        self.use("misbehaves")
        for stage, where in TEARDOWN.items():
            with self.subTest(stage=stage):
                done = self.run_model(fault=f"{stage}:exit")
                self.assertEqual(done.returncode, 4, done.stderr)
                self.named(done, where + "it ended the process")
                self.finished(done)

    def test_exit_after_the_program_is_done_is_status_4_with_its_name(self):
        """In an exit handler and in a destructor, whatever the program's own status is."""
        self.relu()
        self.use("misbehaves")
        wrong = self.file("wrong.raw", floats([9] * 6))
        results = {"done": ((), 0), "mismatch": (("--expect", f"y={wrong}"), 1), "late": (("--timeout", "1us"), 5)}
        for status, (arguments, expected) in results.items():
            self.assertEqual(self.run_model(*arguments).returncode, expected, status)
            for stage, where in AT_EXIT.items():
                for kind in ("exit", "quick_exit", "_exit"):
                    # Sanitizers have an _exit() of their own, so the program has none, nor an exit().
                    if ARGS.sanitize and (kind == "_exit" or stage == "destructor"):
                        continue
                    with self.subTest(status=status, stage=stage, kind=kind):
                        done = self.run_model(*arguments, fault=f"{stage}:{kind}")
                        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                        self.named(done, where + "it ended the process")
                        self.assertEqual("time " in done.stdout, status != "late", done.stdout)
                        self.assertEqual("mismatch" in done.stdout, status == "mismatch", done.stdout)

    def test_a_fatal_signal_names_plugin_function_and_node(self):
        self.relu()
        self.use("misbehaves", trust="any")
        kinds = {"segv": signal.SIGSEGV, "abort": signal.SIGABRT, "fpe": signal.SIGFPE, "bus": signal.SIGBUS}
        for stage, where in {**LOADING, **RUNNING}.items():
            for kind, number in kinds.items() if stage == "execute" else [("segv", signal.SIGSEGV)]:
                with self.subTest(stage=stage, kind=kind):
                    done = self.run_model(fault=f"{stage}:{kind}")
                    self.assertTrue(done.returncode == -number or ARGS.sanitize, done.returncode)
                    self.named(done, f"{where}received {number.name}")

    def test_an_illegal_instruction_and_a_stack_that_overflows_are_named(self):
        self.relu()
        self.use("misbehaves")
        for kind, names in (("ill", ("SIGILL", "SIGTRAP")), ("overflow", ("SIGSEGV",))):
            done = self.run_model(fault=f"execute:{kind}")
            self.assertLess(done.returncode if not ARGS.sanitize else -1, 0)
            self.assertTrue(any(f"execute: node 'first' (Relu): received {name}" in done.stderr for name in names),
                            done.stderr)  # fmt: skip

    def test_a_crash_of_a_thread_of_the_plugins_own_is_named(self):
        self.relu()
        self.use("misbehaves")
        for kind in ("thread_segv", "thread_abort"):
            self.named(self.run_model(fault=f"execute:{kind}"), "outside of all calls: received SIG")

    def test_a_crash_at_teardown_loses_nothing_that_is_finished(self):
        self.relu()
        self.use("misbehaves")
        for stage, where in {**TEARDOWN, **AT_EXIT}.items():
            for kind, number in (("segv", signal.SIGSEGV), ("abort", signal.SIGABRT)):
                with self.subTest(stage=stage, kind=kind):
                    done = self.run_model(fault=f"{stage}:{kind}")
                    self.assertTrue(done.returncode == -number or ARGS.sanitize, done.returncode)
                    self.named(done, f"{where}received {number.name}")
                    self.finished(done)

    def test_a_probe_that_ends_its_helper_is_a_rejection(self):
        self.relu()
        self.use("exit_in_constructor")
        done = self.run_model()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("ended the process with exit status 0 while it was loaded", done.stderr)

    def test_outputs_that_were_not_written_are_an_error_of_the_first_run(self):
        self.relu()
        for fixture, text in (("leaves_outputs", "its output 0 ('y') was not written"),
                              ("leaves_last_element", "its output 0 ('y') was not written in full: 4 of 24 bytes "
                                                      "are unchanged, the first at offset 20")):  # fmt: skip
            self.use(fixture)
            for check in (None, "1"):
                done = self.run_model(check=check)
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertIn(f"plugin {fixture} ({fixture}.so): execute: {text}", done.stderr)

    def test_rounding_that_a_plugin_changes_does_not_reach_the_cpu(self):
        """y = Relu(x) / z: most quotients differ in the last bit with another rounding mode."""
        x, z, y = (onnx_bytes.value_info(name, (64,)) for name in "xzy")
        self.model([onnx_bytes.node("Relu", ["x"], ["r"], "first"), onnx_bytes.node("Div", ["r", "z"], ["y"])],
                   [x, z], [y])  # fmt: skip
        dividends, divisors = [float(i) for i in range(1, 65)], [float(2 * i + 3) for i in range(64)]
        # A quotient of float32 that is rounded to float64 first is rounded right.
        quotients = [a / b for a, b in zip(dividends, divisors)]
        self.values = {"x": floats(dividends), "z": floats(divisors), "y": floats(quotients)}
        self.use("changes_rounding")
        for more in ((), ("--repeat", "3")):
            done = self.run_model(*more)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stderr.count("changes_rounding.so): execute changed the rounding mode"), 1, done.stderr)

    def test_flushing_that_a_plugin_changes_does_not_reach_the_cpu(self):
        """y = Relu(x) * z is subnormal."""
        x, z, y = (onnx_bytes.value_info(name, (8,)) for name in "xzy")
        self.model([onnx_bytes.node("Relu", ["x"], ["r"], "first"), onnx_bytes.node("Mul", ["r", "z"], ["y"])],
                   [x, z], [y])  # fmt: skip
        factors = [float(i) for i in range(1, 9)]
        self.values = {"x": floats(factors), "z": floats([2.0**-140] * 8), "y": floats([f * 2.0**-140 for f in factors])}
        self.use("changes_flushing")
        done = self.run_model()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("execute changed the flushing of subnormal numbers"), 1, done.stderr)

    def test_a_signal_mask_that_a_plugin_changes_is_restored(self):
        self.relu()
        self.use("blocks_signals")
        done = self.run_model()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("blocks_signals.so): open changed the signal mask"), 1, done.stderr)

    def test_a_delegate_that_takes_unknown_extents_allocates_its_outputs(self):
        """y = Relu(Cast(NonZero(x))): how many there are is known in the run."""
        self.model([onnx_bytes.node("NonZero", ["x"], ["i"], "search"),
                    onnx_bytes.node("Cast", ["i"], ["f"], "convert", to=onnx_bytes.FLOAT),
                    onnx_bytes.node("Relu", ["f"], ["y"], "last")],
                   [onnx_bytes.value_info("x", (2, 3))], [onnx_bytes.value_info("y", (2, "count"))])  # fmt: skip
        self.values = {"x": floats([0, 7, 0, 7, 0, 7])}
        self.use("takes_open_extents")
        expected = self.file("expected.npy", onnx_bytes.npy([0, 1, 1, 1, 0, 2], (2, 3)))
        done = self.run_model("--expect", f"y={expected}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("match", done.stdout)
        placed = subprocess.run([ARGS.deputy, "partition", self.model_file, "--config", self.config, "--json"],
                                capture_output=True, text=True, timeout=100, check=True).stdout  # fmt: skip
        nodes = {node["name"]: node["delegate"] for node in json.loads(placed)["nodes"]}
        self.assertEqual(nodes, {"search": "cpu", "convert": "cpu", "last": "takes_open_extents"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--sanitize", default="", help="the sanitizers that the program was built with")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
