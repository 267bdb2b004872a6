#!/usr/bin/env python3
"""Seeing inside a run, as a user of the program meets it: `deputy profile`, `debug: {dump}`, intermediate outputs by
name, and the exporting program's line in errors. With the simulated NPU.

  inside_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import ast
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
NOBODY = 65534
HEAD = "version: 1\nplugins: {paths: [$deputy/plugins]}\n"
NPU = "delegates: [{name: npu0, delegate: sim_npu}]\n"


def read_npy(path):
    """(shape, values) of a file of float32."""
    data = path.read_bytes()
    size = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    assert header["descr"] == "<f4", header
    return header["shape"], struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])


class Inside(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.config = self.write_config(NPU)

    def write_config(self, body, name="c.yaml"):
        path = self.scratch / name
        path.write_text(HEAD + body)
        return path

    def deputy(self, *arguments, status=0):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                       "XDG_CACHE_HOME": str(self.scratch / "cache")}  # fmt: skip
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, env=environment,
                              cwd=self.scratch, timeout=300)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def model(self, nodes=None, initializers=(), shape=(2, 3)):
        """From x to y: Relu and Tanh, which the simulated NPU takes as one partition, and Erf, which it does not."""
        path = self.scratch / "model.onnx"
        nodes = nodes or [onnx_bytes.node("Relu", ["x"], ["a"], "first"), onnx_bytes.node("Tanh", ["a"], ["b"], "second"),
                          onnx_bytes.node("Erf", ["b"], ["y"], "third")]  # fmt: skip
        x, y = (onnx_bytes.value_info(name, shape) for name in "xy")
        path.write_bytes(onnx_bytes.model(nodes, [x], [y], initializers=initializers))
        return path


class Profile(Inside):
    def profile(self, *arguments):
        done = self.deputy("profile", self.model(), "--config", self.config, "--json", *arguments)
        return json.loads(done.stdout)

    def test_ThePartsOfBothTablesAddUpToTheRuns(self):
        profile = self.profile("--runs", "5")
        outside = profile["before_ns"] + profile["between_ns"] + profile["after_ns"]
        self.assertGreater(profile["time_ns"], 0)
        for part in ("steps", "operators"):
            self.assertEqual(outside + sum(row["time_ns"] for row in profile[part]), profile["time_ns"], part)
        self.assertEqual((profile["runs"], profile["warmup"]), (5, 3))

    def test_AStepShowsItsNodesItsBytesAndTheOperationsOfItsDevice(self):
        npu, cpu = self.profile()["steps"]
        self.assertEqual((npu["delegate"], npu["nodes"], npu["op_types"]), ("npu0", ["first", "second"], ["Relu", "Tanh"]))
        self.assertEqual((npu["bytes_in"], npu["bytes_out"], npu["bytes_moved"]), (240, 240, 240), "of ten runs")
        self.assertEqual([operation["name"] for operation in npu["operations"]], ["copy in", "Relu", "Tanh", "copy out"])
        self.assertEqual(npu["operations"][1]["nodes"], ["first"])
        self.assertEqual((cpu["delegate"], cpu["nodes"], cpu["bytes_moved"]), ("cpu", ["third"], 240))

    def test_TheTablesNameTheHostsTimeOutsideOfSteps(self):
        shown = self.deputy("profile", self.model(), "--config", self.config, "--runs", "2").stdout
        for row in ("before the steps", "between steps", "after the steps", "run", "outside of steps"):
            self.assertRegex(shown, rf"(?m)^ +{row} ", shown)
        self.assertRegex(shown, r"(?m)^  npu0 +npu0\S* +first, second ")
        self.assertRegex(shown, r"(?m)^ +  Tanh +second .*cycles")
        self.assertRegex(shown, r"(?m)^  Erf +cpu ")
        self.assertIn("mean of 2 runs", shown)

    def test_TheLongestStepsAreChosenAndTheOthersCounted(self):
        nodes = [onnx_bytes.node("Erf", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 5 else "y"], f"n{i}")
                 for i in range(6)]  # fmt: skip
        model = self.model(nodes)
        shown = self.deputy("profile", model, "--top", "2").stdout
        self.assertEqual(sum(shown.count(f" n{i} ") for i in range(6)), 2, shown)
        self.assertIn("4 other steps", shown)
        shown = self.deputy("profile", model, "--top", "0").stdout
        self.assertEqual(sum(shown.count(f" n{i} ") for i in range(6)), 6, shown)

    def test_TheTraceHasTheRunsOfTheTable(self):
        trace = self.scratch / "trace.json"
        profile = self.profile("--runs", "3", "--trace", trace)
        slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
        sums = {category: round(1000 * sum(slice["dur"] for slice in slices if slice["cat"] == category))
                for category in ("run", "step", "host")}  # fmt: skip
        self.assertEqual(sums["run"], profile["time_ns"])
        self.assertEqual(sums["step"], sum(step["time_ns"] for step in profile["steps"]))
        self.assertEqual(sums["host"], profile["before_ns"] + profile["after_ns"])

    def test_UnknownFlagsAndModelsAreRefused(self):
        self.deputy("profile", self.model(), "--runs", "0", status=2)
        self.deputy("profile", self.scratch / "absent.onnx", status=3)


class Overlap(Inside):
    """A chain on each of two devices in real time, and a node that reads both."""

    def setUp(self):
        super().setUp()
        devices = ", ".join(f"{{name: npu{i}, delegate: sim_npu, device: sim-{i}, options: {{realtime: true}}}}" for i in (0, 1))
        self.config = self.write_config(f"delegates: [{devices}]\nplacement: {{rules: [{{ops: [Tanh], to: npu1}}]}}\n")
        nodes = []
        for side, op in (("left", "Sigmoid"), ("right", "Tanh")):
            names = ["x", *(f"{side}{i}" for i in range(200))]
            nodes += [onnx_bytes.node(op, [read], [made], made) for read, made in zip(names, names[1:])]
        self.model(nodes + [onnx_bytes.node("Add", ["left199", "right199"], ["y"], "join")])

    def run_model(self, command, *arguments):
        return self.deputy(command, self.scratch / "model.onnx", "--config", self.config, *arguments).stdout

    def test_PartitionsThatMayOverlapAreMarked(self):
        partitions = json.loads(self.run_model("partition", "--json"))["partitions"]
        self.assertEqual({(partition["delegate"], len(partition["nodes"]), partition["overlaps"]) for partition in partitions},
                         {("npu0", 200, True), ("npu1", 200, True), ("npu0", 1, False)})  # fmt: skip
        self.assertIn("npu0: 1 partition may run beside those of other delegates", self.run_model("partition"))

    def test_TheOverlapOfStepsIsSubtractedAndItsRowsOfATraceAreApart(self):
        trace = self.scratch / "trace.json"
        for _ in range(20):  # a busy machine may begin one step late
            profile = json.loads(self.run_model("profile", "--json", "--trace", trace))
            outside = profile["before_ns"] + profile["between_ns"] + profile["after_ns"]
            for part in ("steps", "operators"):
                self.assertEqual(outside + sum(row["time_ns"] for row in profile[part]),
                                 profile["time_ns"] + profile["overlap_ns"], part)  # fmt: skip
            if profile["overlap_ns"]:
                break
        self.assertGreater(profile["overlap_ns"], 0)
        ends = {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event.get("cat") == "step":
                self.assertGreaterEqual(event["ts"] + 0.001, ends.get(event["tid"], 0))
                ends[event["tid"]] = event["ts"] + event["dur"]
        self.assertEqual(len(ends), 2)


class Dump(Inside):
    def dump(self, what, *arguments, model=None):
        config = self.write_config(NPU + f"debug: {{dump: {what}, dump_dir: ./dumped}}\n")
        self.deputy("run", model or self.model(), "--config", config, *arguments)
        return self.scratch / "dumped" / "model.onnx"

    def test_OnlyWhatIsNamedIsWritten(self):
        for what, files in (("graph", ["graph.txt"]), ("[placement, plan]", ["placement.json", "plan.txt"])):
            folder = self.dump(what)
            self.assertEqual(sorted(path.name for path in (folder / "plan_1").iterdir()), files)
            shutil.rmtree(folder)

    def test_TheGraphIsThatAfterThePasses(self):
        nodes = [onnx_bytes.node("Relu", ["x"], ["a"], "first"), onnx_bytes.node("Identity", ["a"], ["b"], "same"),
                 onnx_bytes.node("LeakyRelu", ["b"], ["y"], "last", alpha=0.5)]  # fmt: skip
        text = (self.dump("graph", model=self.model(nodes)) / "plan_1" / "graph.txt").read_text()
        self.assertIn("input x: float32 [2,3]\n", text)
        self.assertRegex(text, r"(?m)^first: a = Relu-\d+\(x\) : float32 \[2,3\]$")
        self.assertRegex(text, r"(?m)^last: y = LeakyRelu-\d+\(a\) alpha=0.5 : ")
        self.assertNotIn("Identity", text)

    def test_ThePlacementIsThatOfPartition(self):
        folder = self.dump("placement")
        dumped = json.loads((folder / "plan_1" / "placement.json").read_text())
        shown = json.loads(self.deputy("partition", self.model(), "--config", self.config, "--json").stdout)
        for key in ("summary", "multiply_adds", "nodes"):
            self.assertEqual(dumped[key], shown[key])
        for key, left_out in (("delegates", {"options", "device", "multiply_adds_share"}), ("partitions", {"estimate"})):
            for one, other in zip(dumped[key], shown[key], strict=True):
                self.assertEqual(set(other) - set(one), left_out)
                self.assertEqual({k: v for k, v in one.items() if k != "executable"}, {k: other[k] for k in one
                                                                                        if k != "executable"})  # fmt: skip

    def test_ThePlanHasStepsAndBuffers(self):
        text = (self.dump("plan") / "plan_1" / "plan.txt").read_text()
        self.assertRegex(text, r"(?m)^2 steps, .*arena of \d+ bytes$")
        self.assertRegex(text, r"(?m)^step 0: partition '\S+' on npu0, compiled\n  nodes first second\n  reads x\n  writes b$")
        self.assertRegex(text, r"(?m)^buffer b: arena at \d+, 24 bytes, float32 \[2,3\]")

    # Seed row 80.
    def test_TensorsAreThoseThatCrossPartitions(self):
        values = [-1.0, 0.5, 2.0, -0.25, 0.0, 1.0]
        (self.scratch / "x.npy").write_bytes(onnx_bytes.npy(values, (2, 3)))
        folder = self.dump("tensors", "--input", f"x={self.scratch / 'x.npy'}", "--output-dir", self.scratch / "out")
        folder = folder / "plan_1" / "tensors"
        listed = json.loads((folder / "tensors.json").read_text())["tensors"]
        self.assertEqual([(entry["name"], entry["delegate"], entry["file"]) for entry in listed],
                         [("x", None, "input_x.npy"), ("b", "npu0", "0000_b.npy"), ("y", "cpu", "0001_y.npy")])
        self.assertEqual(read_npy(folder / "input_x.npy"), ((2, 3), tuple(values)))
        self.assertEqual((folder / "0001_y.npy").read_bytes(), (self.scratch / "out" / "y.npy").read_bytes())
        self.assertEqual({path.name for path in folder.iterdir()},
                         {"tensors.json", *(entry["file"] for entry in listed)})

    def test_EverySetOfShapesIsAPlanOfItsOwn(self):
        model = self.model(shape=("n", 3))
        folder = self.dump("tensors", "--shape", "x=2x3", model=model)
        self.assertEqual([path.name for path in folder.iterdir()], ["plan_1"])
        self.assertEqual(read_npy(folder / "plan_1" / "tensors" / "input_x.npy")[0], (2, 3))

    def test_AFolderThatCannotBeMadeIsAnError(self):
        (self.scratch / "dumped").write_text("a file in its place")
        config = self.write_config(NPU + "debug: {dump: graph, dump_dir: ./dumped}\n")
        error = self.deputy("run", self.model(), "--config", config, status=3).stderr
        self.assertIn("debug.dump", error)

    @unittest.skipIf(os.geteuid() != 0, "another user is needed")
    def test_R208_FoldersAndLinksOfOtherUsersAreNotFollowed(self):
        victim = self.scratch / "victim"
        victim.mkdir()
        config = self.write_config(NPU + "debug: {dump: graph}\n")
        for made in ("deputy-dump", "deputy-dump/model.onnx", "deputy-dump/model.onnx/plan_1"):
            for make in (lambda path: path.symlink_to(victim, target_is_directory=True), Path.mkdir):
                with self.subTest(made=made):
                    path = self.scratch / made
                    path.parent.mkdir(parents=True, exist_ok=True)
                    make(path)
                    os.lchown(path, NOBODY, NOBODY)
                    error = self.deputy("run", self.model(), "--config", config, status=3).stderr
                    self.assertIn(f"belongs to user {NOBODY}", error)
                    self.assertEqual(list(victim.iterdir()), [])
                    path.unlink() if path.is_symlink() else path.rmdir()
        self.deputy("run", self.model(), "--config", config)

    def test_WithoutItNothingIsWritten(self):
        self.deputy("run", self.model(), "--config", self.config)
        self.assertFalse((self.scratch / "deputy-dump").exists())
        self.deputy("run", self.model(), "--config", self.config, "--set", "debug.dump=plan")
        self.assertTrue((self.scratch / "deputy-dump" / "model.onnx" / "plan_1" / "plan.txt").exists())


class IntermediateOutputs(Inside):
    def run_with(self, *names, model=None, status=0, config=None):
        arguments = [item for name in names for item in ("--output", name)]
        return self.deputy("run", model or self.model(), "--config", config or self.config, *arguments, "--output-dir",
                           self.scratch / "out", status=status)  # fmt: skip

    # Seed row 75.
    def test_AValueWithinAPartitionIsAnOutputOfItsDelegate(self):
        values = [-1.0, 0.5, 2.0, -0.25, 0.0, 1.0]
        (self.scratch / "x.npy").write_bytes(onnx_bytes.npy(values, (2, 3)))
        self.deputy("run", self.model(), "--config", self.config, "--input", f"x={self.scratch / 'x.npy'}", "--output",
                    "a", "--output", "b", "--output-dir", self.scratch / "out")  # fmt: skip
        self.assertEqual(read_npy(self.scratch / "out" / "a.npy"), ((2, 3), tuple(max(v, 0.0) for v in values)))
        self.assertEqual(sorted(path.name for path in (self.scratch / "out").iterdir()), ["a.npy", "b.npy", "y.npy"])
        profile = self.deputy("run", self.model(), "--config", self.config, "--output", "a", "--profile").stdout
        self.assertRegex(profile, r"(?m)^  npu0 +npu0\S* +first, second ", "still one partition of the NPU")

    def test_AValueThatPassesRemoveIsKept(self):
        nodes = [onnx_bytes.node("Relu", ["x"], ["a"], "first"), onnx_bytes.node("Identity", ["a"], ["b"], "same"),
                 onnx_bytes.node("Identity", ["b"], ["c"], "again"), onnx_bytes.node("Erf", ["c"], ["y"], "last")]  # fmt: skip
        self.run_with("b", "c", model=self.model(nodes))
        written = [(self.scratch / "out" / f"{name}.npy").read_bytes() for name in "bc"]
        self.assertEqual(*written)

    def test_InputsConstantsAndOutputsMayBeNamed(self):
        nodes = [onnx_bytes.node("Add", ["x", "w"], ["y"], "sum")]
        model = self.model(nodes, initializers=[onnx_bytes.tensor([1.0] * 6, (2, 3), "w")])
        self.run_with("y", "x", "w", "w", model=model)
        self.assertEqual(sorted(path.name for path in (self.scratch / "out").iterdir()), ["w.npy", "x.npy", "y.npy"])
        self.assertEqual(read_npy(self.scratch / "out" / "w.npy"), ((2, 3), (1.0,) * 6))

    def test_AnUnknownNameIsAnErrorWithTheNearest(self):
        nodes = [onnx_bytes.node("Relu", ["x"], ["features"], "first"), onnx_bytes.node("Erf", ["features"], ["y"])]
        error = self.run_with("feature", model=self.model(nodes), status=2).stderr
        self.assertIn("the graph has no value 'feature'; did you mean 'features'?", error)

    def test_AValueInsideARegionIsRefused(self):
        branch = onnx_bytes.graph([onnx_bytes.node("Relu", ["x"], ["inner"]), onnx_bytes.node("Tanh", ["inner"], ["o"])],
                                  [], [onnx_bytes.value_info("o", (2, 3))])  # fmt: skip
        nodes = [onnx_bytes.node("ReduceMax", ["x"], ["largest"], keepdims=0),
                 onnx_bytes.node("Greater", ["largest", "low"], ["condition"]),
                 onnx_bytes.node("If", ["condition"], ["y"], "choice", then_branch=branch, else_branch=branch)]  # fmt: skip
        model = self.model(nodes, initializers=[onnx_bytes.tensor([-5.0], (), "low")])
        error = self.run_with("inner", model=model, status=2).stderr
        self.assertIn("value 'inner' is inside a region of node 'choice' (If) and cannot be an output", error)
        self.run_with("largest", model=model)


class SourceLines(Inside):
    TRACE = ('  File "/home/me/model.py", line 42, in forward\n    x = self.relu(x)\n'
             '  File "/usr/lib/python3/site-packages/torch/nn/functional.py", line 1, in relu\n')  # fmt: skip

    def exported(self):
        """The nodes state their lines in both ways in which PyTorch writes them."""
        of_dynamo = onnx_bytes.chunk(9, onnx_bytes.chunk(1, "pkg.torch.onnx.stack_trace") + onnx_bytes.chunk(2, self.TRACE))
        of_script = onnx_bytes.chunk(6, "/usr/lib/torch/nn/modules/module.py(9): _call\n/home/me/model.py(43): forward\n")
        return self.model([onnx_bytes.node("Relu", ["x"], ["a"], "first") + of_dynamo,
                           onnx_bytes.node("Tanh", ["a"], ["y"], "second") + of_script])  # fmt: skip

    def sources(self, model):
        nodes = json.loads(self.deputy("inspect", model, "--nodes", "--json").stdout)["nodes"]
        return [node["source"] for node in nodes]

    def test_InspectShowsThemOfOnnxAndOfDpm(self):
        model, dpm = self.exported(), self.scratch / "m.dpm"
        self.assertEqual(self.sources(model), ["/home/me/model.py:42", "/home/me/model.py:43"])
        self.deputy("convert", model, "-o", dpm)
        self.assertEqual(self.sources(dpm), ["/home/me/model.py:42", "/home/me/model.py:43"])
        self.assertRegex(self.deputy("inspect", model, "--nodes").stdout, r"first .* /home/me/model.py:42")
        self.assertEqual(self.sources(self.model()), ["", "", ""])

    def failing(self, fixture):
        folder = self.scratch / "plugins"
        folder.mkdir(exist_ok=True)
        shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", folder)
        path = self.scratch / "fails.yaml"
        path.write_text(f"version: 1\nplugins: {{paths: [{folder}]}}\ndelegates: [{{name: {fixture}, required: true}}]\n")
        return path

    def test_AnErrorOfADelegateNamesTheLine(self):
        for fixture, status in (("fails_execute", None), ("fails_compile", None)):
            with self.subTest(fixture):
                done = subprocess.run([ARGS.deputy, "run", self.exported(), "--config", self.failing(fixture)],
                                      capture_output=True, text=True, timeout=300)  # fmt: skip
                self.assertRegex(done.stderr, r"node '(first|second)' \((Relu|Tanh)\), exported at /home/me/model.py:4[23]")

    def test_AFailedPartitionOfSeveralNodesNamesItsFirst(self):
        source = onnx_bytes.chunk(6, "model.py(7): forward")
        model = self.model([onnx_bytes.node("Relu", ["x"], ["a"], "first") + source,
                            onnx_bytes.node("Relu", ["a"], ["y"], "second")])  # fmt: skip
        error = self.deputy("run", model, "--config", self.failing("fails_execute"), status=3).stderr
        self.assertRegex(error, r"partition '\S+' of 2 nodes, the first of which is node 'first' \(Relu\), exported at model.py:7: ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
