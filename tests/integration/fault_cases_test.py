#!/usr/bin/env python3
"""Cases of tests/faults/COVERAGE.md that need the whole program: hostile models, files of plugins, and plugins in worker
processes that write where or when they must not.

  fault_cases_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

import onnx_bytes
from fault_run import FaultRun, processes_with


def hash_of_version(name):
    """As ELF hashes the names of symbol versions."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ ((value & 0xF0000000) >> 24)) & 0x0FFFFFFF
    return struct.pack("<I", value)


def resident_bytes(process):
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


class Models(FaultRun):
    def test_R38_a_model_names_no_file_of_compiled_code(self):
        """The node of ONNX Runtime that holds a vendor's compiled code, in the model or in a file."""
        pipe = self.scratch / "code.bin"
        os.mkfifo(pipe)  # to open it would take for ever
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        for embedded, code in ((1, "\x7fELF compiled code"), (0, "code.bin"), (0, str(pipe)), (0, "/etc/passwd")):
            with self.subTest(code=code):
                node = onnx_bytes.node("EPContext", ["x"], ["y"], "blob", "com.microsoft", embed_mode=embedded,
                                       ep_cache_context=code, main_context=1)  # fmt: skip
                self.model.write_bytes(onnx_bytes.model([node], [x], [y], ["com.microsoft"]))
                done = self.run_it(self.command())
                self.assertIn(done.returncode, (3, 4), done.stdout + done.stderr)
                self.assertIn("EPContext", done.stderr)

    def test_R39_metadata_of_a_model_sets_nothing(self):
        config = self.config(cache="'off'")
        plain = self.model.read_bytes()
        made = self.scratch / "made"
        settings = {"cpu.threads": "7", "cache.dir": str(made), "debug.dump": "[graph, plan]", "log.level": "off",
                    "delegates": "[]", "plugins.paths": "[/nowhere]", "isolation": "none", "DEPUTY_CHECK": "1",
                    "optimized_model_filepath": str(made), "profile_file_prefix": str(made)}  # fmt: skip
        entries = b"".join(onnx_bytes.chunk(14, onnx_bytes.chunk(1, key) + onnx_bytes.chunk(2, value))
                           for key, value in settings.items())  # fmt: skip
        results = []
        for model in (plain, plain + entries):
            self.model.write_bytes(model)
            before = sorted(self.scratch.iterdir())
            done = self.run_it([self.arguments.deputy, "partition", self.model, "--config", config, "--json"])
            self.assertEqual(done.returncode, 0, done.stderr)
            run = self.run_it(self.command(config=config))
            self.right(run)
            results.append((json.loads(done.stdout)["nodes"], run.stderr))
            self.assertEqual(sorted(self.scratch.iterdir()), before)
        self.assertEqual(results[0], results[1])

    def test_R44_a_file_of_more_than_2_GiB_is_refused_unread(self):
        file = self.scratch / "m.dpm"
        converted = self.run_it([self.arguments.deputy, "convert", self.model, "-o", file])
        self.assertEqual(converted.returncode, 0, converted.stderr)
        for size in ((2 << 30) - 1, 2 << 30, (4 << 30) + 1):
            with self.subTest(size):
                os.truncate(file, size)
                begin = time.monotonic()
                done = self.run_it([self.arguments.deputy, "inspect", file])
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn("m.dpm: ", done.stderr)
                self.assertLess(time.monotonic() - begin, 5)
        with open(file, "r+b") as opened:  # file_size, and structure_size: as many bytes as FlatBuffers cannot check
            for offset, value in ((16, (4 << 30) + 1), (32, 3 << 30)):
                opened.seek(offset)
                opened.write(struct.pack("<Q", value))
        begin = time.monotonic()
        done = self.run_it([self.arguments.deputy, "inspect", file])
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("the structure section is too large", done.stderr)
        self.assertLess(time.monotonic() - begin, 5)


class Files(FaultRun):
    def test_R73_a_library_of_a_newer_system_is_named(self):
        file = self.plugins / "misbehaves.so"
        data = file.read_bytes()
        old, new = "GLIBC_2.2.5", "GLIBC_9.9.9"
        self.assertIn(old.encode(), data)
        file.write_bytes(data.replace(old.encode(), new.encode()).replace(hash_of_version(old), hash_of_version(new)))
        done = self.run_it(self.command())
        self.right(done)
        self.assertIn("load-failed", done.stderr)
        self.assertIn(new, done.stderr)

    def test_R81_a_privileged_program_reads_no_variables(self):
        """secure_getenv gives none to a set-user-ID program; the library reads variables by no other function."""
        library = Path(self.arguments.deputy).parents[1] / "lib" / "libdeputy.so"
        done = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
        wanted = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
        self.assertIn("secure_getenv", wanted)
        self.assertNotIn("getenv", wanted)

    def test_R144_a_model_named_like_a_path(self):
        folder = self.scratch / "models"
        folder.mkdir()
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "../../../node")], [x], [y]))
        models = [folder / f"{name}.onnx" for name in ("..x", ".", "a\nb", "%n%s", "..\\..\\x", "x" * 200)]
        before = {path for path in self.scratch.rglob("*") if path.is_file()}
        for model in models:
            with self.subTest(model):
                shutil.copy(self.model, model)
                self.right(self.run_it([model if part == self.model else part for part in self.command()]))
        made = {path for path in self.scratch.rglob("*") if path.is_file()} - before - {*models, self.scratch / "c.yaml"}
        cache = self.scratch / "home" / ".cache" / "deputy"
        self.assertEqual([path for path in made if not path.is_relative_to(cache)], [])
        self.assertEqual([path for path in made if re.search(r"\.\.|%|\n|\\", path.name)], [])

    def test_R151_a_device_without_memory(self):
        """The simulated NPU has a mebibyte, and the model needs more."""
        weights = onnx_bytes.tensor([0.5] * (1000 * 1000), (1000, 1000), "w")
        x, y = (onnx_bytes.value_info(name, (2, 1000)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("MatMul", ["x", "w"], ["y"], "product")], [x], [y],
                                                initializers=[weights]))  # fmt: skip
        for memory, taken in ((1, False), (64, True)):
            setting = f"delegates=[{{name: npu0, delegate: sim_npu, options: {{memory: {memory}}}}}]"
            done = self.run_it([self.arguments.deputy, "run", self.model, "--config", "cpu-only", "--set", setting])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("npu0 1/1 node" in done.stderr, taken, done.stderr)
            why = self.run_it([self.arguments.deputy, "partition", self.model, "--config", "cpu-only", "--set", setting])
            self.assertEqual("of device memory" in why.stdout, not taken, why.stdout)

    def test_R85_thousands_of_files_hide_no_plugin(self):
        for number in range(10000):
            (self.plugins / f"a{number}.so").touch()
        with open(self.plugins / "huge.so", "wb") as file:
            file.truncate(2 << 30)
        begin = time.monotonic()
        done = self.run_it(self.command(config=self.config(more=", required: true")))
        self.right(done)
        self.assertLess(time.monotonic() - begin, 60)


class Workers(FaultRun):
    def run_both(self, fixture, *arguments):
        """y of the delegate; z = x + y of the CPU, after it. Both are expected, and x begins with a negative number."""
        self.add(fixture)
        x, y, z = (onnx_bytes.value_info(name, (2, 3)) for name in "xyz")
        nodes = [onnx_bytes.node("Relu", ["x"], ["y"], "first"), onnx_bytes.node("Add", ["x", "y"], ["z"], "sum")]
        self.model.write_bytes(onnx_bytes.model(nodes, [x], [y, z]))
        for name, values in {"x": (-1, 2, -3, 4, -5, 6), "y": (0, 2, 0, 4, 0, 6), "z": (-1, 4, -3, 8, -5, 12)}.items():
            (self.scratch / f"{name}.raw").write_bytes(struct.pack("<6f", *values))
        config = self.config(fixture, cache="'off'", more=", required: true")
        done = self.run_it(self.command("--expect", f"z={self.scratch}/z.raw", *arguments, config=config))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("match"), 2, done.stdout)
        self.assertIn(f"{fixture} 1/2 nodes", done.stderr)

    def while_it_runs(self, action, required="true", isolation="process"):
        """Runs the model many times, and does something in the middle."""
        config = self.config(cache="'off'", isolation=isolation, more=f", required: {required}")
        command = self.command("--repeat", "100000" if isolation == "process" else "1000000", config=config)
        environment = self.environment(FIXTURE_FAULT="execute:log", FIXTURE_AFTER="1000")
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:  # fmt: skip
            self.assertIn("misbehaves 1/1 node", run.stderr.readline())
            self.assertTrue(any("runs again and again" in line for line in run.stderr))
            self.assertIsNone(run.poll(), "it has ended too early")
            action(run)
            done = subprocess.CompletedProcess(command, None, *run.communicate(timeout=100))
        done.returncode = run.returncode
        return done

    def test_R78_a_plugin_that_is_damaged_while_it_runs_costs_no_answer(self):
        file = self.plugins / "misbehaves.so"
        good = file.read_bytes()

        def overwrite(_):
            with open(file, "r+b") as opened:
                opened.write(bytes(len(good)))

        for damage in (lambda _: os.truncate(file, 0), overwrite):
            self.right(self.while_it_runs(damage, required="false"))
            file.write_bytes(good)

    def test_R78_a_plugin_that_is_replaced_while_it_runs_in_process_goes_on(self):
        file = self.plugins / "misbehaves.so"

        def replace(_):
            (self.scratch / "other.so").write_bytes(b"another file")
            (self.scratch / "other.so").replace(file)

        for change in (replace, lambda _: file.unlink()):
            self.add("misbehaves")
            self.right(self.while_it_runs(change, isolation="none"))

    def test_R78_a_plugin_that_is_cut_while_it_runs_in_process_is_named(self):
        """The end of the process cannot be prevented; SECURITY.md says so."""
        done = self.while_it_runs(lambda _: os.truncate(self.plugins / "misbehaves.so", 0), isolation="none")
        self.assertEqual(done.returncode, -signal.SIGBUS, done.stderr)
        self.assertRegex(done.stderr, r"deputy: error: plugin \S+ \(misbehaves\.so\): execute: .*received SIGBUS")

    def test_R130_a_plugin_that_is_replaced_while_it_runs_goes_on(self):
        def replace(_):
            other = self.scratch / "other.so"
            other.write_bytes(b"another file")
            other.replace(self.plugins / "misbehaves.so")

        done = self.while_it_runs(replace)
        self.right(done)
        self.assertNotIn("warning", done.stderr)

    def test_R93_a_failure_of_init_that_passes_costs_one_program_the_delegate(self):
        config = self.config(cache=self.scratch / "cache")
        config.write_text(config.read_text().replace("plugins: {", "plugins: {sandbox: false, "))
        once = self.scratch / "once"
        environment = self.environment(FIXTURE_FAULT="init:segv", FIXTURE_ONCE=str(once))
        first, second = (self.run_it(self.command(config=config), environment=environment) for _ in range(2))
        self.assertTrue(once.exists())
        for done, nodes in ((first, None), (second, "misbehaves 1/1 node")):
            self.right(done)
            self.assertEqual("warning" in done.stderr, nodes is None, done.stderr)
            self.assertIn(nodes or "SIGSEGV", done.stderr)

    def test_R104_a_plugin_changes_no_input_of_others(self):
        self.run_both("writes_inputs", "--repeat", "3")

    def test_R108_a_plugin_changes_no_tensor_of_others(self):
        for fixture in ("writes_behind_output", "writes_before_output"):
            with self.subTest(fixture):
                self.run_both(fixture, "--repeat", "3")

    def test_R116_a_flood_of_output_blocks_no_worker(self):
        self.add("prints_a_lot")
        self.right(self.run_it(self.command(config=self.config("prints_a_lot", more=", required: true"))))

    def test_R116_a_flood_of_output_blocks_no_run(self):
        self.add("prints_in_execute")
        config = self.config("prints_in_execute", more=", required: true")
        self.right(self.run_it(self.command("--repeat", "30000", config=config)))  # far more than a pipe holds

    def test_R116_a_flood_of_output_is_shown_in_part(self):
        for fixture, printed in (("prints_a_lot", 10000), ("prints_in_execute", 30000)):
            with self.subTest(fixture):
                self.add(fixture)
                config = self.config(fixture, more=", required: true")
                begin = time.monotonic()
                done = self.run_it(self.command("--repeat", "30000", "--verbose", config=config))
                self.right(done)
                self.check_limit(done.stderr, r"standard (?:output|error), line|running", printed, time.monotonic() - begin)

    def test_R116_a_flood_of_the_log_is_shown_in_part(self):
        self.add("logs_a_lot")
        for isolation in ("none", "process"):
            with self.subTest(isolation):
                config = self.config("logs_a_lot", isolation=isolation, more=", required: true")
                begin = time.monotonic()
                done = self.run_it(self.command(config=config))
                self.right(done)
                self.check_limit(done.stderr, "a line of the flood", 5000, time.monotonic() - begin)

    def check_limit(self, text, line, printed, seconds):
        """Lines are shown at the rate of isolation.md, and it is said how many are not."""
        shown = len(re.findall(line, text))
        self.assertGreaterEqual(shown, 500)
        self.assertLessEqual(shown, 1000 + 100 * (seconds + 1))
        dropped = sum(map(int, re.findall(r"dropped (\d+) of its lines: more than 100 a second", text)))
        self.assertGreater(shown + dropped, printed * 0.98)  # what is buffered when a worker ends is lost

    def test_R126_sessions_that_lose_one_worker_start_one(self):
        config = self.config(cache="'off'")
        config.write_text(config.read_text().replace("plugins: {", "plugins: {sandbox: false, "))
        once = self.scratch / "once"
        environment = self.environment(FIXTURE_FAULT="execute:segv", FIXTURE_ONCE=str(once))
        command = [self.arguments.deputy, "bench", self.model, "--config", config, "--sessions", "6", "--runs", "200"]
        done = self.run_it(command, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(once.exists())
        self.assertEqual(done.stderr.count("was started again"), 1, done.stderr)

    def test_R132_memory_does_not_grow_with_the_runs(self):
        samples = []

        def watch(run):
            while run.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    run.wait(0.02)  # between two samples
                try:
                    samples.extend(resident_bytes(process) for process in processes_with(f"serve\0{self.plugins}"))
                except (OSError, TypeError):  # it has ended meanwhile
                    continue

        self.right(self.while_it_runs(watch))
        self.assertGreater(len(samples), 8, "too few samples")
        quarter = len(samples) // 4
        self.assertLess(max(samples[-quarter:]), max(samples[:quarter]) * 1.01 + 65536)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--jumping-clock", required=True)
    FaultRun.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
