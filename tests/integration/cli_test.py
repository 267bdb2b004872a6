#!/usr/bin/env python3
"""The program as people use it: what it prints, and above all its exit status for everything that can be wrong.

  cli_test.py --deputy build/release/bin/deputy [--data DIR] [unittest's arguments]

Real models come from --data, else $DEPUTY_TEST_DATA, else ../shared/data beside the repository; tests that need them
are skipped where they are absent. Everything else is made here.
"""

import argparse
import json
import os
import re
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import ScratchCase, run_program

ROOT = Path(__file__).resolve().parents[2]
DEPUTY = None
DATA = None


def deputy(*arguments, env=None):
    return run_program(DEPUTY, *arguments, env=env)


class Cli(ScratchCase):
    def add_model(self, **kwargs):
        return self.file("add.onnx", onnx_bytes.add_model(**kwargs))

    def check(self, run, status, *patterns):
        """Exit status, and patterns in what was printed on stderr (on failure) or stdout."""
        said = f"exit status {run.returncode}\nstdout:\n{run.stdout}\nstderr:\n{run.stderr}"
        self.assertEqual(run.returncode, status, said)
        if status >= 2:
            self.assertRegex(run.stderr, r"(?m)^deputy: error: ", said)
        for pattern in patterns:
            self.assertRegex(run.stderr if status >= 2 else run.stdout, pattern, said)

    def case(self, name, model, output=(5, 7, 9, 11, 13, 15), files=("input_0.pb", "input_1.pb", "output_0.pb")):
        values = {"input_0.pb": (1, 2, 3, 4, 5, 6), "input_1.pb": (4, 5, 6, 7, 8, 9), "output_0.pb": output}
        self.file(f"{name}/model.onnx", model)
        for file in files:
            self.file(f"{name}/test_data_set_0/{file}", onnx_bytes.tensor(values[file], (2, 3)))
        return self.scratch / name


class Usage(Cli):
    def test_VersionIsPrinted(self):
        self.check(deputy("--version"), 0, r"^deputy \d+\.\d+\.\d+\n$")

    def test_AnOptionThatMayBeRepeatedLeavesWhatFollowsAlone(self):
        done = deputy("run", "--set", "log.level=error", "--set", "cpu.threads=1", self.add_model())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_EveryCommandHelpsWithAnExample(self):
        names = re.findall(r"(?m)^  ([a-z][a-z-]+) +[A-Z]", deputy("--help").stdout)
        self.assertEqual(
            set(names),
            {"digits", "run", "bench", "test-case", "partition", "inspect", "plugins", "config", "cache", "convert",
             "profile", "new-plugin", "tune", "verify", "compare", "devices", "doctor", "completion", "bundle",
             "quarantine", "report"},
            names,
        )
        for name in names:
            with self.subTest(name):
                self.check(deputy(name, "--help"), 0, rf"Example:\n  deputy {name} ")

    def test_NoCommandShowsHelp(self):
        run = deputy()
        self.assertEqual(run.returncode, 2)
        self.assertIn("partition", run.stderr)

    def test_UnknownCommandIsAnsweredWithTheNearest(self):
        self.check(deputy("partiton", "a.onnx"), 2, "unknown command 'partiton'; did you mean 'partition'")

    def test_UnknownFlagIsAnsweredWithTheNearest(self):
        self.check(deputy("run", "a.onnx", "--repaet", "3"), 2, "unknown flag '--repaet'; did you mean '--repeat'")

    def test_UnknownFlagComesBeforeAMissingModel(self):
        self.check(deputy("run", "--confg=a.yaml"), 2, "unknown flag '--confg=a.yaml'; did you mean '--config'")

    def test_MissingModelArgument(self):
        self.check(deputy("run"), 2, "required")

    def test_WrongNumber(self):
        self.check(deputy("run", "a.onnx", "--repeat", "many"), 2, "repeat")
        self.check(deputy("test-case", ".", "--rtol", "-1"), 2, "rtol")


class ModelFiles(Cli):
    def test_MissingModelIsThree(self):
        for command in ("run", "partition"):
            with self.subTest(command):
                self.check(deputy(command, self.scratch / "absent.onnx"), 3, "absent.onnx")

    def test_EmptyModelIsThree(self):
        self.check(deputy("run", self.file("empty.onnx", b"")), 3, "empty.onnx")

    def test_TruncatedModelIsThree(self):
        whole = onnx_bytes.add_model()
        self.check(deputy("run", self.file("short.onnx", whole[: len(whole) // 2])), 3, "short.onnx")

    def test_TextIsNoModel(self):
        self.check(deputy("run", self.file("notes.onnx", "dear diary\n" * 50)), 3, "notes.onnx")

    def test_DamagedTfliteModelIsThree(self):
        tflite = b"\xff\x00\x00\x00TFL3" + bytes(100)  # its root is beyond its end
        self.check(deputy("run", self.file("model.tflite", tflite)), 3, "model.tflite", "damaged")

    def test_ForeignModelIsThree(self):
        self.check(deputy("run", self.file("model.gguf", b"GGUF" + bytes(100))), 3, "model.gguf")

    def test_FolderIsNoModel(self):
        self.check(deputy("run", self.scratch), 3)

    def test_OperatorThatNobodyHasIsNamed(self):
        path = self.add_model(op_type="Frobnicate", domain="com.example")
        self.check(deputy("run", path), 3, "Frobnicate", "sum")

    def test_DamagedDpmIsThree(self):
        dpm = self.scratch / "add.dpm"
        self.check(deputy("convert", self.add_model(), "-o", dpm), 0, "add.dpm")
        data = dpm.read_bytes()
        self.check(deputy("run", self.file("cut.dpm", data[: len(data) * 2 // 3])), 3, "cut.dpm")


class Configuration(Cli):
    def test_UnknownKeyHasALineAndANearestKey(self):
        path = self.file("bad.yaml", "version: 1\nplugins:\n  pahts: [x]\n")
        self.check(deputy("config", "check", path), 2, r"bad\.yaml:3:3: .*pahts.*did you mean 'paths'")

    def test_AllProblemsAreReportedAtOnce(self):
        path = self.file("bad.yaml", "version: 1\nfallbak: cpu\ncpu: {threads: many}\n")
        run = deputy("config", "check", path)
        self.check(run, 2)
        self.assertEqual(run.stderr.count("deputy: error: "), 2, run.stderr)

    def test_GoodConfigurationIsOk(self):
        for name in ("default.yaml", "npu-first.yaml"):
            with self.subTest(name):
                self.check(deputy("config", "check", ROOT / "configs" / name), 0, rf"{name}: ok\n$")

    def test_MissingConfigurationIsTwo(self):
        self.check(deputy("run", self.add_model(), "--config", "/nowhere.yaml"), 2, "nowhere.yaml")

    def test_SetOfAnUnknownKeyIsTwo(self):
        self.check(deputy("run", self.add_model(), "--set", "cpu.thraeds=2"), 2, "thraeds.*did you mean 'threads'")

    def test_SetWithoutAValueIsTwo(self):
        self.check(deputy("config", "show", "--set", "cpu.threads"), 2, "cpu.threads")

    def test_ShowNamesTheOriginOfEveryValue(self):
        run = deputy("config", "show", "--set", "cpu.threads=2")
        self.check(run, 0, r"threads: 2 +# --set")

    def test_SchemaListsTheKeysAndRefusesOthers(self):
        config = self.file("a.yaml", "version: 1\nplugins: {paths: [.]}\n")
        run = deputy("config", "schema", "--config", config)
        self.check(run, 0)
        schema = json.loads(run.stdout)
        self.assertIs(schema["additionalProperties"], False)
        self.assertIn("min_nodes", schema["properties"]["delegates"]["items"]["properties"])

    # Seed row 3.
    def test_AbsentDelegateIsAWarning(self):
        path = self.file("a.yaml", "version: 1\nplugins: {paths: [.]}\ndelegates: [{name: nosuch}]\n")
        run = deputy("run", self.add_model(), "--config", path)
        self.check(run, 0)
        self.assertRegex(run.stderr, "warning: .*nosuch")

    # Seed row 4.
    def test_RequiredAbsentDelegateIsFour(self):
        text = "version: 1\nplugins: {paths: [.]}\ndelegates: [{name: nosuch, required: true}]\n"
        self.check(deputy("run", self.add_model(), "--config", self.file("a.yaml", text)), 4, "nosuch")


class Run(Cli):
    def npy(self, name, values, shape=(2, 3), descr="<f4"):
        return self.file(name, onnx_bytes.npy(values, shape, descr))

    def test_InputsFromFilesAreAdded(self):
        a, b = self.npy("a.npy", range(6)), self.file("b.pb", onnx_bytes.tensor([10] * 6, (2, 3)))
        run = deputy("run", self.add_model(), "--input", f"a={a}", "--input", f"b={b}")
        self.check(run, 0, r"y +float32 \[2,3\] +10 +12\.5 +15 +10 11 12 13 14 \.\.\.")

    # As a damaged .npy file.
    def test_ADamagedTensorFileIsTwo(self):
        number, chunk = onnx_bytes.number, onnx_bytes.chunk
        elsewhere = number(1, 2) + number(1, 3) + number(2, 1) + number(14, 1) + chunk(13, chunk(1, "location") + chunk(2, "w"))
        for name, content, message in (
            ("short.pb", onnx_bytes.tensor([1, 2, 3], (2, 3)), "short.pb: "),
            ("trash.pb", b"\xff" * 100, "trash.pb: "),
            ("negative.pb", onnx_bytes.tensor([1, 2, 3], (-1, 3)), "negative.pb: "),
            ("elsewhere.pb", elsewhere, "the elements are in another file.*; store the elements in the tensor file"),
        ):
            with self.subTest(name):
                self.check(deputy("run", self.add_model(), "--input", f"a={self.file(name, content)}"), 2, message)
        short = self.file("short.npy", onnx_bytes.npy(range(6), (2, 3))[:-1])
        self.check(deputy("run", self.add_model(), "--input", f"a={short}"), 2)

    def test_RawInputIsTakenWithTheModelsType(self):
        raw = self.file("a.bin", onnx_bytes.struct.pack("<6f", *range(6)))
        self.check(deputy("run", self.add_model(), "--input", f"a={raw}"), 0, r"a +float32 \[2,3\] +.*a\.bin")

    def test_MissingInputsAreRandomAndTheSameEachTime(self):
        outputs = []
        for name in ("one", "two"):
            run = deputy("run", self.add_model(), "--output-dir", self.scratch / name)
            self.check(run, 0, "random, seed 1")
            outputs.append((self.scratch / name / "y.npy").read_bytes())
        self.assertEqual(*outputs)

    def test_ShapeFillsOpenExtentsOfAllInputs(self):
        run = deputy("run", self.add_model(shape=("batch", 3)), "--shape", "a=5x3")
        self.check(run, 0, r"b +float32 \[5,3\]")
        self.assertNotIn("assuming", run.stderr)

    def test_ExpectedOutputMatches(self):
        arguments = [f"{n}={self.npy(n + '.npy', v)}" for n, v in (("a", [1] * 6), ("b", [2] * 6), ("y", [3] * 6))]
        run = deputy("run", self.add_model(), "--input", arguments[0], "--input", arguments[1], "--expect", arguments[2])
        self.check(run, 0, "match y")

    def test_MismatchIsOneWithTheWorstElement(self):
        a, b = self.npy("a.npy", [1] * 6), self.npy("b.npy", [2] * 6)
        y = self.npy("y.npy", [3, 3, 3.5, 3, 5, 3])
        run = deputy("run", self.add_model(), "--input", f"a={a}", "--input", f"b={b}", "--expect", f"y={y}")
        self.check(run, 1, r"mismatch y: 2 of 6 elements differ, worst at \[1,1\]: got 3, want 5, \|d\| 2, allowed 0\.005")

    def test_MismatchWithinTheToleranceIsNone(self):
        a, b, y = self.npy("a.npy", [1] * 6), self.npy("b.npy", [2] * 6), self.npy("y.npy", [3.4] * 6)
        arguments = ["--input", f"a={a}", "--input", f"b={b}", "--expect", f"y={y}"]
        self.check(deputy("run", self.add_model(), *arguments, "--atol", "0.5"), 0)

    def test_UnknownInputIsAnsweredWithTheNearest(self):
        path = self.file("image.onnx", onnx_bytes.model(
            [onnx_bytes.node("Relu", ["image"], ["y"])], [onnx_bytes.value_info("image", (1,))],
            [onnx_bytes.value_info("y", (1,))]))  # fmt: skip
        self.check(deputy("run", path, "--input", "imgae=a.npy"), 2, "no input 'imgae'; did you mean 'image'")
        self.check(deputy("run", path, "--input", "a.npy"), 2, "not of the form NAME=FILE; the model's inputs: .*image")

    def test_UnknownOutputIsTwo(self):
        self.check(deputy("run", self.add_model(), "--expect", "z=a.npy"), 2, "no output 'z'")

    def test_InputOfAnotherDtypeIsTwo(self):
        a = self.npy("a.npy", range(6), descr="<f8")
        self.check(deputy("run", self.add_model(), "--input", f"a={a}"), 2, "float64.*float32")

    def test_InputOfAnotherShapeIsTwo(self):
        a = self.npy("a.npy", range(6), (3, 2))
        self.check(deputy("run", self.add_model(), "--input", f"a={a}"), 2, r"\[3,2\].*\[2,3\]")

    def test_InputsThatDisagreeOnASymbolAreTwo(self):
        model = self.add_model(shape=("batch", 3))
        self.check(deputy("run", model, "--shape", "a=2x3", "--shape", "b=4x3"), 2, "batch")

    def test_MissingInputFileIsTwo(self):
        self.check(deputy("run", self.add_model(), "--input", "a=/nowhere.npy"), 2, "nowhere.npy")

    def test_RawFileOfAnotherSizeIsTwo(self):
        self.check(deputy("run", self.add_model(), "--input", f"a={self.file('a.bin', bytes(20))}"), 2, "a.bin")

    def test_DamagedNpyIsTwo(self):
        self.check(deputy("run", self.add_model(), "--input", f"a={self.file('a.npy', b'NUMPY')}"), 2, "a.npy")

    def test_ShapeThatDoesNotFitIsTwo(self):
        self.check(deputy("run", self.add_model(), "--shape", "a=2x4"), 2, r"\[2,4\].*\[2,3\]")

    def test_ShapeThatIsNoneIsTwo(self):
        self.check(deputy("run", self.add_model(), "--shape", "a=2by3"), 2, "2by3")

    def test_ExpectedFileOfAnotherShapeIsTwo(self):
        y = self.npy("y.npy", range(6), (6,))
        self.check(deputy("run", self.add_model(), "--expect", f"y={y}"), 2, r"\[6\].*\[2,3\]")

    def test_UnwritableOutputFolderIsFive(self):
        occupied = self.file("taken", "")
        self.check(deputy("run", self.add_model(), "--output-dir", occupied), 5, "taken")


class TestCases(Cli):
    def test_PassFailAndSkipAreCounted(self):
        good = self.case("good", onnx_bytes.add_model())
        wrong = self.case("wrong", onnx_bytes.add_model(), output=(5, 7, 9, 11, 13, 16))
        strange = self.case("strange", onnx_bytes.add_model(op_type="Frobnicate", domain="com.example"))
        run = deputy("test-case", good, wrong, strange)
        self.check(run, 1, r"(?m)^pass  good  ", r"(?m)^fail  wrong  .*\[1,2\]", r"(?m)^skip  strange  .*Frobnicate")
        self.assertEqual(run.stdout.splitlines()[-1], "1 passed, 1 failed, 1 skipped")

    def test_ResultsOfRequestsInFlightAreCompared(self):
        good = self.case("good", onnx_bytes.add_model())
        wrong = self.case("wrong", onnx_bytes.add_model(), output=(5, 7, 9, 11, 13, 16))
        run = deputy("test-case", good, wrong, "--in-flight", "3")
        self.check(run, 1, r"(?m)^pass  good  .*, 3 in flight", r"(?m)^fail  wrong  .*\[1,2\]")
        self.check(deputy("test-case", good, "--in-flight", "0"), 2, "in-flight")

    def test_SkippedCasesAreNoFailureBesideOneThatPasses(self):
        (self.scratch / "bare").mkdir()
        run = deputy("test-case", self.scratch / "bare", self.case("good", onnx_bytes.add_model()))
        self.check(run, 0, "no model.onnx and no model.tflite", "1 passed, 0 failed, 1 skipped\n$")
        self.assertEqual(run.stderr, "")

    def test_NothingButSkippedCasesIsNoSuccess(self):
        (self.scratch / "bare").mkdir()
        no_input = self.case("no_input", onnx_bytes.add_model(), files=("input_0.pb", "output_0.pb"))
        no_output = self.case("no_output", onnx_bytes.add_model(), files=("input_0.pb", "input_1.pb"))
        run = deputy("test-case", self.scratch / "bare", no_input, no_output)
        self.check(run, 1, "no test_data_set_0/input_1.pb", "0 passed, 0 failed, 3 skipped\n$")
        self.assertEqual(run.stderr, "deputy: error: no output was compared: every case was skipped\n")
        run = deputy("test-case", no_output, "--json")
        self.check(run, 1)
        self.assertEqual(json.loads(run.stdout)["skipped"], 1)

    def test_DataForAnInitializerIsReportedInsteadOfLeftAside(self):
        case = self.case("surplus", onnx_bytes.add_model())
        self.file("surplus/test_data_set_0/input_2.pb", onnx_bytes.tensor((5, 7, 9, 11, 13, 15), (2, 3)))
        self.check(deputy("test-case", case), 1, "skip  surplus  input_2.pb exists, but the model has 2 inputs")

    def test_DamagedModelFails(self):
        self.check(deputy("test-case", self.case("damaged", b"garbage")), 1, "fail  damaged")

    def test_OtherShapeFails(self):
        case = self.case("other", onnx_bytes.add_model())
        self.file("other/test_data_set_0/output_0.pb", onnx_bytes.tensor((5, 7, 9, 11, 13, 15), (3, 2)))
        self.check(deputy("test-case", case), 1, r"got float32 \[2,3\], want float32 \[3,2\]")

    def test_TolerancesAreTheUsers(self):
        case = self.case("close", onnx_bytes.add_model(), output=(5, 7, 9, 11, 13, 16))
        self.check(deputy("test-case", case, "--atol-scale", "0.1"), 0, "pass  close")

    def test_ViaDpmGivesTheSame(self):
        self.check(deputy("test-case", self.case("good", onnx_bytes.add_model()), "--via-dpm"), 0, "1 passed")

    def test_JsonHasThePromisedKeys(self):
        run = deputy("test-case", self.case("good", onnx_bytes.add_model()), "--json")
        self.check(run, 0)
        report = json.loads(run.stdout)
        self.assertEqual(set(report), {"cases", "passed", "failed", "skipped"})
        self.assertEqual(set(report["cases"][0]), {"name", "folder", "result", "detail", "nodes"})
        self.assertEqual(report["cases"][0]["nodes"], {"cpu": 1})

    def test_MissingFolderIsTwo(self):
        self.check(deputy("test-case", self.scratch / "absent"), 2, "absent")

    def test_PlacementLinesAreNotPrinted(self):
        self.assertEqual(deputy("test-case", self.case("good", onnx_bytes.add_model())).stderr, "")


class Partition(Cli):
    # Seed row 78.
    def test_JsonHasThePromisedKeys(self):
        run = deputy("partition", self.add_model(), "--json")
        self.check(run, 0)
        report = json.loads(run.stdout)
        self.assertEqual(set(report), {"model", "summary", "multiply_adds", "delegates", "partitions", "nodes"})
        self.assertEqual(
            set(report["delegates"][0]),
            {"name", "id", "plugin", "nodes", "partitions", "multiply_adds", "multiply_adds_share", "options", "device"},
        )
        self.assertEqual(
            set(report["partitions"][0]),
            {"name", "delegate", "region", "nodes", "inputs", "outputs", "multiply_adds", "estimate", "executable",
             "not_cached", "overlaps"},
        )
        self.assertEqual(
            set(report["nodes"][0]),
            {"name", "op_type", "domain", "since_version", "delegate", "partition", "region", "multiply_adds",
             "refusals"},
        )  # fmt: skip
        self.assertEqual(report["nodes"][0]["name"], "sum")
        self.assertEqual(report["nodes"][0]["delegate"], "cpu")

    def test_ShapeFillsOpenExtents(self):
        model = self.add_model(shape=("batch", "width"))
        self.check(deputy("partition", model, "--shape", "a=4x3"), 0, r"b float32 \[4,3\]")

    # Seed rows 28, 79.
    def test_OneNodeIsExplained(self):
        self.check(deputy("partition", self.add_model(), "--node", "sum"), 0, "operator +Add-", "delegate +cpu")

    def test_UnknownNodeIsAnsweredWithTheNearest(self):
        self.check(deputy("partition", self.add_model(), "--node", "smu"), 2, "no node 'smu'; did you mean 'sum'")


class Convert(Cli):
    def test_ConvertedModelGivesTheSame(self):
        dpm = self.scratch / "add.dpm"
        self.check(deputy("convert", self.add_model(), "-o", dpm), 0, r"add\.dpm: ")
        for name, model in (("one", self.scratch / "add.onnx"), ("two", dpm)):
            self.check(deputy("run", model, "--output-dir", self.scratch / name), 0)
        self.assertEqual((self.scratch / "one/y.npy").read_bytes(), (self.scratch / "two/y.npy").read_bytes())

    def test_TheModelItselfIsNotOverwritten(self):
        model = self.add_model()
        before = model.read_bytes()
        self.check(deputy("convert", model, "-o", model), 2, "itself")
        self.assertEqual(model.read_bytes(), before)

    def test_UnwritableOutputIsFive(self):
        self.check(deputy("convert", self.add_model(), "-o", "/nowhere/add.dpm"), 5, "/nowhere/add.dpm")


class Bench(Cli):
    def test_LatencyAndMemoryAreReported(self):
        run = deputy("bench", self.add_model(), "--runs", "3", "--warmup", "0")
        self.check(run, 0, r"latency +min .*, p50 .*, p90 .*, p95 .*, p99 .*, max ", r"throughput +\S+ runs/s",
                   r"memory +\S+ MB peak", r"cpu +1 +1 +0 +\S+ (ns|us|ms) +100\.0 %")  # fmt: skip

    def test_RequestsInFlightAreComparedWithRunsOneAtATime(self):
        run = deputy("bench", self.add_model(), "--runs", "3", "--in-flight", "2")
        self.check(run, 0, r"with 2 requests in flight, [0-9.]+ of [0-9.]+ runs/s one at a time")
        report = json.loads(deputy("bench", self.add_model(), "--runs", "3", "--in-flight", "7", "--json").stdout)
        self.assertEqual((report["in_flight"], report["runs"]), (7, 3))
        self.assertGreater(report["sequential_runs_per_second"], 0)
        self.check(deputy("bench", self.add_model(), "--in-flight", "2", "--sessions", "2"), 2, "excludes")

    def test_JsonHasThePromisedKeys(self):
        run = deputy("bench", self.add_model(), "--runs", "3", "--json")
        self.check(run, 0)
        report = json.loads(run.stdout)
        self.assertEqual(
            set(report),
            {"model", "runs", "warmup", "sessions", "in_flight", "inputs", "open_ns", "build_ns", "prepare_ns",
             "first_run_ns", "first_run", "duration_ns", "latency_ns", "runs_per_second", "profiled_run_ns",
             "memory_before_bytes", "memory_peak_bytes", "multiply_adds", "delegates"},
        )  # fmt: skip
        self.assertEqual(set(report["latency_ns"]), {"min", "p50", "p90", "p95", "p99", "max", "mean"})
        self.assertEqual(
            set(report["delegates"][0]),
            {"name", "nodes", "partitions", "multiply_adds", "time_ns", "time_share"},
        )
        self.assertEqual(report["inputs"][0], {"name": "a", "dtype": "float32", "shape": [2, 3]})
        self.assertEqual(report["runs"], 3)
        latency = report["latency_ns"]
        self.assertLessEqual(latency["min"], latency["p50"])
        self.assertLessEqual(latency["p50"], latency["max"])

    def test_ShapesAreTheUsers(self):
        run = deputy("bench", self.add_model(shape=("batch", 3)), "--shape", "a=5x3", "--runs", "1")
        self.check(run, 0, r"a float32 \[5,3\]")

    def test_ThreadsReachTheCpu(self):
        config = self.file("a.yaml", "version: 1\nplugins: {paths: [.]}\n")
        self.check(deputy("bench", self.add_model(), "--config", config, "--threads", "2", "--runs", "1"), 0)

    def test_NoRunsAreNone(self):
        self.check(deputy("bench", self.add_model(), "--runs", "0"), 2, "runs")

    def test_MissingModelIsThree(self):
        self.check(deputy("bench", self.scratch / "absent.onnx"), 3, "absent.onnx")


class Inspect(Cli):
    def test_ModelIsDescribed(self):
        run = deputy("inspect", self.add_model(shape=("batch", 3)))
        self.check(run, 0, r"format +ONNX, \d+ bytes", r"opset +13", r"symbols +batch", r"a +float32 \[batch,3\]",
                   r"Add +13 +1 +yes")  # fmt: skip

    def test_OperatorThatNobodyHasIsShownWithTheReason(self):
        path = self.add_model(op_type="Frobnicate", domain="com.example")
        self.check(deputy("inspect", path), 0, r"com\.example\.Frobnicate +1 +1 +no +operator unknown")

    def test_NodesAreListed(self):
        run = deputy("inspect", self.add_model(), "--nodes")
        self.check(run, 0, r"sum +Add-13 +y float32 \[2,3\] +yes")

    def test_ShapeFillsOpenExtents(self):
        run = deputy("inspect", self.add_model(shape=("batch", 3)), "--nodes", "--shape", "a=5x3")
        self.check(run, 0, r"sum +Add-13 +y float32 \[5,3\]")

    def test_MultiplyAddsAreCounted(self):
        weight = onnx_bytes.tensor([0] * 12, (3, 4), "w")
        path = self.file("product.onnx", onnx_bytes.model(
            [onnx_bytes.node("MatMul", ["x", "w"], ["y"], "product")], [onnx_bytes.value_info("x", (2, 3))],
            [onnx_bytes.value_info("y", (2, 4))], initializers=[weight]))  # fmt: skip
        self.check(deputy("inspect", path), 0, r"parameters +12 in 1 constant, 48 bytes", r"(?m)^  24 multiply-adds$")

    def test_JsonHasThePromisedKeys(self):
        run = deputy("inspect", self.add_model(), "--json", "--nodes")
        self.check(run, 0)
        report = json.loads(run.stdout)
        self.assertEqual(
            set(report),
            {"model", "format", "file_bytes", "metadata", "inputs", "outputs", "states", "symbols", "node_count",
             "regions", "operators", "constants", "parameters", "constant_bytes", "multiply_adds", "problem", "nodes"},
        )  # fmt: skip
        self.assertEqual(
            set(report["operators"][0]),
            {"op_type", "domain", "since_version", "nodes", "on_cpu", "multiply_adds", "why_not"},
        )
        self.assertEqual(
            set(report["nodes"][0]),
            {"name", "op_type", "domain", "since_version", "region", "inputs", "outputs", "types", "multiply_adds",
             "on_cpu", "why_not", "source"},
        )  # fmt: skip
        self.assertEqual(report["nodes"][0]["inputs"], ["a", "b"])
        self.assertNotIn("nodes", json.loads(deputy("inspect", self.add_model(), "--json").stdout))

    def test_ConvertedModelSaysTheSame(self):
        dpm = self.scratch / "add.dpm"
        self.check(deputy("convert", self.add_model(), "-o", dpm), 0)
        self.check(deputy("inspect", dpm), 0, r"format +dpm, ", r"opset +13", r"Add +13 +1 +yes")

    def test_WhatIsNoModelIsThree(self):
        self.check(deputy("inspect", self.file("notes.onnx", "dear diary\n" * 50)), 3, "notes.onnx")

    def test_UnknownInputIsTwo(self):
        self.check(deputy("inspect", self.add_model(), "--shape", "c=1"), 2, "no input 'c'")


class Plugins(Cli):
    def config(self):
        return self.file("a.yaml", "version: 1\nplugins: {paths: [plugins]}\ndelegates: []\n")

    def test_FileThatIsNoPluginIsRejectedWithItsRule(self):
        self.file("plugins/libnotes.so", "these are notes")
        self.check(deputy("plugins", "--why", "--config", self.config()), 0, r"rejected +.*libnotes\.so\n +\S+.*: \S+")

    # Seed row 7.
    def test_JsonHasThePromisedKeys(self):
        self.file("plugins/libnotes.so", "these are notes")
        run = deputy("plugins", "--json", "--config", self.config())
        self.check(run, 0)
        report = json.loads(run.stdout)
        self.assertEqual(set(report), {"folders", "plugins", "notes"})
        self.assertEqual(
            set(report["plugins"][0]),
            {"file", "accepted", "probed", "rule", "reason", "id", "vendor", "version", "abi", "files", "libraries", "opens",
             "cpu_features", "environment", "devices", "sandbox", "refused_calls", "listed", "lock",
             "not_listed", "delegates"},
        )  # fmt: skip
        self.assertFalse(report["plugins"][0]["accepted"])


class Digits(Cli):
    def test_AtLeastNineteenOfTwentyAreRight(self):
        run = deputy("digits")
        self.check(run, 0, r"(19|20) of 20 right", "delegate", "cpu")

    def test_CpuAloneReadsThemToo(self):
        config = self.file("cpu.yaml", "version: 1\n")
        self.check(deputy("digits", "--config", config), 0, r"(19|20) of 20 right", r"cpu +\d+ +100\.0 %")

    def test_PicturesAreAsciiWhereTheLocaleIs(self):
        run = deputy("digits", env={"LC_ALL": "C"})
        self.check(run, 0)
        self.assertTrue(run.stdout.isascii(), run.stdout)

    def test_WrongAnswersAreOne(self):
        images = ROOT / "configs/digits/images"
        for index, image in enumerate(sorted(images.glob("*.pgm"))):
            self.file(f"images/{index:02}_{(int(image.stem[-1]) + 1) % 10}.pgm", image.read_bytes())
        self.check(deputy("digits", "--images", self.scratch / "images"), 1, "0 of 20 right")

    def test_DamagedPictureIsTwo(self):
        self.file("images/00_0.pgm", "P5 28 28 255 too short")
        self.check(deputy("digits", "--images", self.scratch / "images"), 2, "00_0.pgm")

    def test_FolderWithoutPicturesIsTwo(self):
        self.check(deputy("digits", "--images", self.scratch), 2, "no .pgm")

    def test_AnotherModelIsThree(self):
        self.check(deputy("digits", "--model", self.add_model()), 3, "does not classify digits")


MODELS = ("mnist_cntk", "ultraface_rfb_320", "policy_go1", "dnsmos_p808", "silero_vad_16k_op15")


class RealModels(Cli):
    def setUp(self):
        super().setUp()
        if DATA is None:
            self.skipTest("no real models: give --data or DEPUTY_TEST_DATA")

    def test_FiveModelsPassOnTheCpu(self):
        run = deputy("test-case", *(DATA / "models" / name for name in MODELS), "--atol-scale", "1e-5")
        self.check(run, 0, "5 passed, 0 failed, 0 skipped\n$")

    def test_FiveModelsPassViaDpm(self):
        run = deputy("test-case", "--via-dpm", *(DATA / "models" / name for name in MODELS), "--atol-scale", "1e-5")
        self.check(run, 0, "5 passed, 0 failed, 0 skipped\n$")


def main():
    global DEPUTY, DATA
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    known, rest = parser.parse_known_args()
    DEPUTY = known.deputy.resolve(strict=True)
    data = known.data or Path(os.environ.get("DEPUTY_TEST_DATA", ROOT / ".." / "shared" / "data"))
    DATA = data.resolve() if (data / "models").is_dir() else None
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
