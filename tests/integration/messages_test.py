#!/usr/bin/env python3
"""Messages besides results: -q, -v, --color, progress, the first run, and the reasons of the cache; and the numbers of
bench, which must agree with each other.

  messages_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes
from pty_run import run_on_terminal

ARGS = None
ERASED = "\r\x1b[K"


class WithDeputy(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.model = self.scratch / "add.onnx"
        self.model.write_bytes(onnx_bytes.add_model(shape=("batch", 3)))
        self.absent = self.config("delegates: [{name: absent}]\n")  # a warning at every load

    def config(self, text):
        path = self.scratch / "c.yaml"
        path.write_text("version: 1\n" + text)
        return path

    def deputy(self, *arguments, status=0, **environment):
        variables = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        for name in ("COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"):
            variables.pop(name, None)
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**variables, **environment})  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done


class Messages(WithDeputy):
    def test_QuietPrintsResultsAndErrorsOnly(self):
        loud = self.deputy("run", self.model, "--config", self.absent)
        self.assertIn("warning: ", loud.stderr)
        self.assertIn("assuming batch=1", loud.stderr)
        for arguments in (["-q", "run", self.model, "--config", self.absent],
                          ["run", self.model, "--quiet", "--config", self.absent]):  # fmt: skip
            quiet = self.deputy(*arguments)
            self.assertEqual(quiet.stderr, "")
            self.assertIn("time ", quiet.stdout)
        failed = self.deputy("run", self.scratch / "none.onnx", "-q", status=3)
        self.assertIn("deputy: error: ", failed.stderr)

    def test_VerbosePrintsTheStagesOfLoading(self):
        for arguments in (["-v", "run", self.model], ["run", self.model, "--verbose"]):
            done = self.deputy(*arguments)
            self.assertRegex(done.stderr, r"(?m)^debug: .*add\.onnx: reading$")
            self.assertRegex(done.stderr, r"(?m)^debug: cpu: compiling partition 1 of 1, 1 node$")
        self.assertNotIn("debug: ", self.deputy("run", self.model).stderr)

    def test_StagesNameTheDelegateAndItsPartition(self):
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, min_nodes: 1}]\ncache: {dir: off}\n")
        done = self.deputy("-v", "run", self.model, "--config", config)
        if "no plugin offers" in done.stderr:
            self.skipTest("sim_npu is not built")
        self.assertRegex(done.stderr, r"(?m)^debug: checking plugin .*/sim_npu\.so$")
        self.assertRegex(done.stderr, r"(?m)^debug: npu0: opening$")
        self.assertRegex(done.stderr, r"(?m)^debug: npu0: compiling partition 1 of 1, 1 node$")

    def test_AnEmptyValueIsAUsageError(self):
        for arguments in (["--config", ""], ["--config="], ["--set", ""], ["--output-dir", ""], ["--trace="]):
            with self.subTest(arguments):
                error = self.deputy("run", self.model, *arguments, status=2).stderr
                self.assertIn(f"{arguments[0].rstrip('=')}: must not be empty", error)
        for command in (["config", "check", ""], ["config", "show", "--config", ""], ["run", ""], ["test-case", ""],
                        ["digits", "--images", ""], ["convert", "m.onnx", "-o", ""], ["inspect", ""]):  # fmt: skip
            with self.subTest(command):
                self.assertIn("must not be empty", self.deputy(*command, status=2).stderr)

    def test_QuietAndVerboseExcludeEachOther(self):
        self.assertIn("exclude each other", self.deputy("-q", "run", self.model, "-v", status=2).stderr)

    def test_ColoursInAPipeAreThoseThatAreAskedFor(self):
        def coloured(*arguments, **environment):
            done = self.deputy("run", self.model, "--config", self.absent, *arguments, **environment)
            self.assertEqual("\x1b[" in done.stdout, "\x1b[" in done.stderr)
            return "\x1b[" in done.stdout

        self.assertFalse(coloured())
        self.assertTrue(coloured("--color", "always"))
        self.assertTrue(coloured(CLICOLOR_FORCE="1"))
        self.assertFalse(coloured(CLICOLOR_FORCE="0"))
        self.assertFalse(coloured("--color=never", CLICOLOR_FORCE="1"))
        self.assertFalse(coloured(CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertTrue(coloured("--color", "always", NO_COLOR="1"))
        self.deputy("--color", "sometimes", "run", self.model, status=2)

    def test_ColoursOnATerminal(self):
        def coloured(*arguments, **environment):
            status, text, _ = run_on_terminal([ARGS.deputy, *arguments, "run", self.model], 80, environment=environment)
            self.assertEqual(status, 0, text)
            return "\x1b[" in text

        self.assertTrue(coloured())
        self.assertFalse(coloured("--color", "never"))
        self.assertFalse(coloured(NO_COLOR="1"))
        self.assertFalse(coloured(TERM="dumb"))

    def bench_on_terminal(self, *more):
        status, text, _ = run_on_terminal(
            [ARGS.deputy, "bench", self.model, "--duration", "2500ms", "--config", self.absent, *more], 80, both=True)
        self.assertEqual(status, 0, text)
        return text

    def test_WorkOfMoreThanASecondShowsProgressOnATerminal(self):
        text = self.bench_on_terminal()
        self.assertIn("measuring for 2500ms  1 s", text)
        last = text.rindex("measuring for")
        self.assertIn(ERASED, text[last:])
        self.assertIn("latency", text[text.index(ERASED, last):])
        self.assertNotIn("latency", text[:last])

    def test_QuietShowsNoProgress(self):
        self.assertNotIn("measuring", self.bench_on_terminal("-q"))

    def test_APipeGetsNoProgress(self):
        done = self.deputy("bench", self.model, "--duration", "1500ms")
        self.assertNotIn("measuring", done.stdout + done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_ShortWorkShowsNoProgress(self):
        _, text, _ = run_on_terminal([ARGS.deputy, "inspect", self.model], 80, both=True)
        self.assertNotIn(ERASED, text)

    def test_TheFirstRunIsToldApart(self):
        self.assertRegex(self.deputy("run", self.model).stdout, r"(?m)^this was the first run, cold: .*page fault")
        several = self.deputy("run", self.model, "--repeat", 5).stdout
        self.assertRegex(several, r"(?m)^time .*, median of 4 runs from ")
        self.assertRegex(several, r"(?m)^first run .*, cold: .*page fault")
        self.assertRegex(self.deputy("bench", self.model, "--runs", 3).stdout, r"(?m)^  first run +.*, cold: ")

    def test_PartitionsSayWhyTheyAreNotCached(self):
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, min_nodes: 1}]\ncache: {dir: cache}\n")
        command = ("partition", self.model, "--config", config, "--shape", "a=2x3")
        if "no plugin offers" in self.deputy(*command).stderr:
            self.skipTest("sim_npu is not built")

        def npu(*more):
            report = json.loads(self.deputy(*command, "--json", *more).stdout)
            return [p for p in report["partitions"] if p["delegate"] == "npu0"][0]

        self.assertEqual(npu()["executable"], "restored")
        self.assertIn("restored", self.deputy(*command).stdout)
        self.assertEqual(npu()["not_cached"], "")
        self.deputy("cache", "purge", "--config", config)
        self.assertIn("stored", self.deputy(*command).stdout)
        off = ("--set", "cache.dir=off")
        self.assertEqual(npu(*off), {**npu(*off), "executable": "compiled", "not_cached": "the cache is off"})
        self.assertIn("npu0: 1 partition not cached: the cache is off", self.deputy(*command, *off).stdout)
        self.deputy("cache", "purge", "--config", config)
        self.assertIn("is not used: cannot be opened", npu("--set", "cache.dir=/dev/null/cache")["not_cached"])


class Bench(WithDeputy):
    def bench(self, *arguments):
        return json.loads(self.deputy("bench", self.model, "--json", *arguments).stdout)

    def test_TheFileOfRunsAgreesWithTheReport(self):
        path = self.scratch / "runs.csv"
        report = self.bench("--runs", 7, "--sessions", 3, "--csv", path, "--percentiles", "50,75.5")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(report["runs"], 21)
        self.assertEqual([(row["session"], row["run"]) for row in rows],
                         [(str(s), str(r)) for s in (1, 2, 3) for r in range(1, 8)])  # fmt: skip
        times = sorted(int(row["latency_ns"]) for row in rows)
        want = {"min": times[0], "p50": times[10], "p75.5": times[15], "p90": times[18], "p95": times[19],
                "p99": times[20], "max": times[20]}  # fmt: skip
        self.assertEqual({key: report["latency_ns"][key] for key in want}, want)
        self.assertAlmostEqual(report["latency_ns"]["mean"], sum(times) / 21, delta=1)
        self.assertEqual(report["duration_ns"], max(int(row["start_ns"]) + int(row["latency_ns"]) for row in rows))

    def test_ADurationIsReached(self):
        report = self.bench("--duration", "300ms")
        self.assertGreaterEqual(report["duration_ns"], 290_000_000)
        self.assertGreater(report["runs"], 50)

    def test_BothLimitsHold(self):
        self.assertGreaterEqual(self.bench("--duration", "1us", "--runs", 30)["runs"], 30)
        self.assertEqual(self.bench("--runs", 30)["runs"], 30)

    def test_OperatorsHaveTheirShare(self):
        operators = self.bench("--per-operator")["operators"]
        self.assertEqual([(row["operators"], row["delegate"], row["steps"]) for row in operators], [("Add", "cpu", 1)])
        self.assertEqual(operators[0]["time_share"], 1)
        text = self.deputy("bench", self.model, "--per-operator").stdout
        self.assertRegex(text, r"(?m)^  Add +cpu +1 +.* 100")

    def test_MistakesAreUsageErrors(self):
        for arguments in (["--duration", "10"], ["--sessions", 0], ["--percentiles", "0"], ["--percentiles", "101"]):
            self.deputy("bench", self.model, *arguments, status=2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
