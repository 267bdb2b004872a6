#!/usr/bin/env python3
"""The delegate onnxruntime: ONNX Runtime's own provider, options that are refused, and the providers of build/guests where
packaging/guests.sh has made it. Exits 77, with the reason, where there is no ONNX Runtime."""

import argparse
import glob
import importlib.util
import json
import os
import re
import struct
import sys
import unittest
from pathlib import Path

import onnx_bytes as onnx
from scratch import ScratchCase, run_program, variables_of

ARGS = None
SHAPE = (1, 4, 8, 8)
VALUES = [((i * 37) % 101 - 50) / 25 for i in range(256)]


def runtime():
    """The file of ONNX Runtime's library, of the Python that runs this."""
    spec = importlib.util.find_spec("onnxruntime")
    found = glob.glob(os.path.join(os.path.dirname(spec.origin), "capi", "libonnxruntime.so*")) if spec else []
    return found[0] if found else None


class WithDeputy(ScratchCase):
    def setUp(self):
        super().setUp()
        # Relu -> Conv (2-D) -> Sigmoid -> Mul
        weights = [((i * 29) % 53 - 26) / 60 for i in range(4 * 4 * 9)]
        self.model = self.file("m.onnx", onnx.model(
            [onnx.node("Relu", ["x"], ["a"], "first"),
             onnx.node("Conv", ["a", "w"], ["b"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             onnx.node("Sigmoid", ["b"], ["c"], "gate"), onnx.node("Mul", ["b", "c"], ["y"], "product")],
            [onnx.value_info("x", SHAPE)], [onnx.value_info("y", SHAPE)],
            initializers=[onnx.tensor(weights, (4, 4, 3, 3), "w")]))  # fmt: skip
        self.file("x.npy", onnx.npy(VALUES, SHAPE))
        done = self.deputy("run", self.model, "--config", "cpu-only", "--input", f"x={self.scratch}/x.npy", "--output-dir",
                           self.scratch)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def environment(self):
        return {"XDG_CACHE_HOME": str(self.scratch / "cache")}

    def deputy(self, *arguments):
        return run_program(ARGS.deputy, *arguments, env=self.environment())

    def config(self, options, more=""):
        return self.file("c.yaml", f"version: 1\nplugins: {{readable: [{os.path.dirname(runtime())}, {ARGS.fixtures}]}}\ndelegates:\n  - name: guest\n    delegate: onnxruntime\n    min_nodes: 1\n{more}"
                         f"    options: {json.dumps(options)}\n")  # fmt: skip

    def placed(self, options, more="", tolerance=("--rtol", "1e-4")):
        """How many nodes the delegate ran, in a run whose results are the CPU's, and what was said."""
        done = self.deputy("run", self.model, "--config", self.config(options, more), "--input",
                           f"x={self.scratch}/x.npy", "--expect", f"y={self.scratch}/y.npy", *tolerance, "--json")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        delegates = {delegate["name"]: delegate["nodes"] for delegate in json.loads(done.stdout)["delegates"]}
        return delegates.get("guest", 0), done.stderr

    def refused(self, options, text, more=""):
        """The delegate is not used, with this reason, and the CPU computes everything."""
        nodes, said = self.placed(options, more)
        self.assertEqual(nodes, 0)
        self.assertRegex(said, text)
        return said


class OwnProvider(WithDeputy):
    """CPUExecutionProvider, which is built into ONNX Runtime."""

    def test_ItRunsAWholeModel(self):
        self.assertEqual(self.placed({"runtime": runtime()})[0], 4)

    def test_ItRunsInThisProcess(self):
        self.assertEqual(self.placed({"runtime": runtime()}, "    isolation: none\n")[0], 4)

    def test_ATensorWithoutElementsIsAnOperandThatResizeLeavesOut(self):
        self.model.write_bytes(onnx.model(
            [onnx.node("Resize", ["x", "roi", "scales"], ["y"])], [onnx.value_info("x", SHAPE)],
            [onnx.value_info("y", SHAPE)],
            initializers=[onnx.tensor([], (0,), "roi"), onnx.tensor([1, 1, 1, 1], (4,), "scales")]))  # fmt: skip
        (self.scratch / "y.npy").write_bytes(onnx.npy(VALUES, SHAPE))
        self.assertEqual(self.placed({"runtime": runtime()}, "    isolation: none\n")[0], 1)

    def test_AMissingRuntimeIsAReasonWithTheRemedy(self):
        said = self.refused({"runtime": "/nowhere/libonnxruntime.so"}, "cannot open ONNX Runtime: .*pip install onnxruntime")
        self.assertIn("in a worker process", said, "isolation is the default, although the lock lists the plugin")

    def test_ARuntimeThatTheSandboxKeepsFromItIsNamedWithTheRemedy(self):
        copied = self.scratch / "libonnxruntime.so"
        copied.write_bytes(Path(runtime()).read_bytes())
        self.refused({"runtime": str(copied)}, r"Permission denied; the sandbox reads .*plugins: \{readable: \[DIR\]\}")

    def test_AProviderThatTheSandboxKeepsFromItIsNamedWithTheRemedy(self):
        copied = self.scratch / "libonnxruntime_copied.so"
        copied.write_bytes((Path(ARGS.fixtures) / "libfixture_ort_ep.so").read_bytes())
        for name in (runtime(), "own"):
            self.refused({"runtime": name, "library": str(copied)},
                         rf"cannot open the execution provider: {copied}: .*Permission denied; the sandbox reads .*plugins: "
                         r"\{readable: \[DIR\]\}")  # fmt: skip

    def test_AnotherLibraryIsNoRuntime(self):
        self.refused({"runtime": "libc.so.6"}, "does not export OrtGetApiBase")

    def test_AnUnknownProviderIsRefusedWithThoseThatThereAre(self):
        self.refused({"runtime": runtime(), "provider": "NoSuchProvider"}, "'NoSuchProvider', but for 'CPUExecutionProvider'")

    def test_ADeviceThatIsNotThereIsRefusedWithThoseThatAre(self):
        for device in ("npu", "7"):
            self.refused({"runtime": runtime(), "device": device}, f"no device is '{device}'; there are: 0: cpu")

    def test_OptionsOfAnotherProviderAreRefused(self):
        self.refused({"runtime": runtime(), "qnn": {"soc_model": 57}}, "options of 'qnn' are for QNNExecutionProvider")

    def test_AClockIsRefusedWhereThereIsNone(self):
        self.refused({"runtime": runtime(), "frequency": "low"}, "'frequency' has no effect")

    def test_AValueThatAProviderWouldIgnoreIsAnErrorOfTheConfiguration(self):
        done = self.deputy("config", "check", self.config({"runtime": runtime(), "qnn": {"backend_type": "hpt"}}))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, r"qnn\.backend_type.*'?htp'?")

    def test_EntriesThatAreNoPairsAreRefused(self):
        self.refused({"runtime": runtime(), "session_config": "a=1; b"}, "'b' is not of the form key=value")

    def test_EntriesOfTheSessionAreHandedOn(self):
        nodes, said = self.placed({"runtime": runtime(), "session_config": "session.intra_op_thread_affinities=x"})
        self.assertEqual(nodes, 0)
        self.assertRegex(said, "Affinity.*only digits: x")

    def test_APrecisionThatItDoesNotHaveGoesToTheNext(self):
        self.assertEqual(self.placed({"runtime": runtime()}, "    precision: float16\n")[0], 0)

    def test_ALibraryThatIsNoProviderIsRefused(self):
        self.refused({"runtime": runtime(), "library": "libc.so.6"}, "does not export CreateEpFactories")

    def test_OwnTablesNeedALibrary(self):
        self.refused({"runtime": "own"}, "'runtime: own' needs option 'library'")

    def test_AttributesThatANewerDefinitionAddedAreNoObstacleWhereTheyHoldTheirDefaults(self):
        """Each node is presented in its oldest definition, which ONNX Runtime checks the attributes with."""
        self.model.write_bytes(onnx.model(
            [onnx.node("Reshape", ["x", "shape"], ["a"], allowzero=0),
             onnx.node("ReduceSum", ["a"], ["s"], noop_with_empty_axes=0),
             onnx.node("QuantizeLinear", ["a", "scale", "zero"], ["q"], axis=1),
             onnx.node("DequantizeLinear", ["q", "scale", "zero"], ["d"], axis=1), onnx.node("Add", ["d", "s"], ["y"])],
            [onnx.value_info("x", SHAPE)], [onnx.value_info("y", (4, 64))],
            initializers=[onnx.integer_tensor(7, struct.pack("<2q", 4, 64), (2,), "shape"), onnx.tensor([0.02], (), "scale"),
                          onnx.integer_tensor(3, b"\3", (), "zero")], opset=17))  # fmt: skip
        done = self.deputy("run", self.model, "--config", "cpu-only", "--input", f"x={self.scratch}/x.npy", "--output-dir",
                           self.scratch)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes, said = self.placed({"runtime": runtime()}, tolerance=("--rtol", "1e-3", "--atol", "0.05"))
        self.assertEqual(nodes, 5, said)
        self.assertNotIn("invalid model", said)


class MisbehavingProvider(WithDeputy):
    """libfixture_ort_ep.so, which takes Add and Relu, with both runtimes: answers stay right."""

    def setUp(self):
        super().setUp()
        # Relu -> Add -> Sigmoid -> Relu
        self.model.write_bytes(onnx.model(
            [onnx.node("Relu", ["x"], ["a"], "first"), onnx.node("Add", ["a", "x"], ["b"], "sum"),
             onnx.node("Sigmoid", ["b"], ["c"], "gate"), onnx.node("Relu", ["c"], ["y"], "last")],
            [onnx.value_info("x", SHAPE)], [onnx.value_info("y", SHAPE)]))  # fmt: skip
        done = self.deputy("run", self.model, "--config", "cpu-only", "--input", f"x={self.scratch}/x.npy", "--output-dir",
                           self.scratch)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def each(self, misbehave, more=""):
        """Nodes that it ran and what was said, for each runtime."""
        return [self.placed({"runtime": name, "library": str(Path(ARGS.fixtures) / "libfixture_ort_ep.so"),
                             "provider_options": misbehave and f"misbehave={misbehave}"}, more)
                for name in (runtime(), "own")]  # fmt: skip

    def test_ItRunsWhatItTakes(self):
        for nodes, _ in self.each(""):
            self.assertEqual(nodes, 3)

    def test_NodesWithoutElementsStayWithTheNext(self):
        none = (0, 4)
        self.model.write_bytes(onnx.model(
            [onnx.node("Relu", ["x"], ["y"], "first"), onnx.node("Relu", ["e"], ["f"], "empty")],
            [onnx.value_info("x", SHAPE), onnx.value_info("e", none)],
            [onnx.value_info("y", SHAPE), onnx.value_info("f", none)]))  # fmt: skip
        (self.scratch / "y.npy").write_bytes(onnx.npy([max(value, 0) for value in VALUES], SHAPE))
        for nodes, _ in self.each(""):
            self.assertEqual(nodes, 1)

    def test_InThisProcessAsWell(self):
        for nodes, _ in self.each("", "    isolation: none\n"):
            self.assertEqual(nodes, 3)

    def test_WhileItIsAskedNothingIsSaid(self):
        nodes, said = self.placed({"runtime": runtime(), "library": str(Path(ARGS.fixtures) / "libfixture_ort_ep.so")})
        self.assertEqual(nodes, 3)
        self.assertNotRegex(said, "not all nodes are taken|all answers are known")

    def test_NodesThatItClaimsAndDoesNotCompileGoToTheNext(self):
        for nodes, said in self.each("claims_everything"):
            self.assertEqual(nodes, 3)
            self.assertRegex(said, "refused 1 node of partition .*'gate'")

    def test_WithoutACompilerItGetsNothing(self):
        for misbehave in ("fails_to_compile", "compiles_nothing", "no_compile", "no_ep", "fails_capability", "throws"):
            for nodes, said in self.each(misbehave):
                self.assertEqual(nodes, 0, misbehave)

    def test_ARunThatFailsIsFoundBeforeTheHostUsesIt(self):
        for nodes, said in self.each("fails_to_run"):
            self.assertEqual(nodes, 0)
            self.assertRegex(said, "refused partition .* at compile: .*run")

    def test_WrongResultsAreFoundInTheFirstRun(self):
        for nodes, said in self.each("wrong_results"):
            self.assertRegex(said, "wrong result of guest .*wrong: ")

    def test_ACrashIsAnsweredByTheNext(self):
        for nodes, said in self.each("aborts"):
            self.assertEqual(nodes, 0)
            self.assertRegex(said, "SIGABRT")


class Guests(WithDeputy):
    """Providers of other vendors, unmodified."""

    def setUp(self):
        self.variables = variables_of(Path(ARGS.guests) / "env.sh")
        super().setUp()

    def environment(self):
        return {**super().environment(), **{name: self.variables[name] for name in self.variables
                                            if re.match("LD_|VK_|XDG_RUNTIME|ORT_", name)}}  # fmt: skip

    def test_NodesThatGgmlClaimsAndCannotComputeGoToTheNext(self):
        # It claims the 2-D convolution, and builds it in the first run.
        nodes, said = self.placed({"runtime": "libonnxruntime.so.1", "library": "libonnxruntime_ggml.so"})
        self.assertEqual(nodes, 3)
        self.assertRegex(said, "refused 1 node of partition .*'conv' .*only 1-D convolutions")

    def test_AnOperatorThatEndsGgmlsProcessStaysWithTheNext(self):
        # It aborts in the run of its second Resize.
        large = (1, 4, 32, 32)
        self.model.write_bytes(onnx.model(
            [onnx.node("Relu", ["x"], ["a"], "first"), onnx.node("Resize", ["a", "roi", "scales"], ["b"], "twice"),
             onnx.node("Resize", ["b", "roi", "scales"], ["y"], "again")],
            [onnx.value_info("x", SHAPE)], [onnx.value_info("y", large)],
            initializers=[onnx.tensor([], (0,), "roi"), onnx.tensor([1, 1, 2, 2], (4,), "scales")]))  # fmt: skip
        done = self.deputy("run", self.model, "--config", "cpu-only", "--input", f"x={self.scratch}/x.npy",
                           "--output-dir", self.scratch)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes, _ = self.placed({"runtime": "libonnxruntime.so.1", "library": "libonnxruntime_ggml.so"},
                               "    isolation: none\n")  # fmt: skip
        self.assertEqual(nodes, 1)

    def test_ANameThatGgmlWouldStateAsItsOwnIsRefused(self):
        for name in ("libonnxruntime.so.1", "own"):
            self.refused({"runtime": name, "library": "libonnxruntime_ggml.so", "provider": "Nope"}, "'Nope'.*ggml")

    def test_WithoutOnnxRuntimeWebGpuIsRefusedWithTheCause(self):
        for isolation in ("process", "none"):
            self.refused({"runtime": "own", "library": "libonnxruntime_providers_webgpu.so"},
                         "registers kernels, which needs ONNX Runtime's library", f"    isolation: {isolation}\n")  # fmt: skip

    def test_QnnRunsAWholeModelInHalfPrecision(self):
        options = {"runtime": "libonnxruntime.so.1", "library": "libonnxruntime_providers_qnn.so", "qnn": {"soc_model": 57}}
        nodes, _ = self.placed(options, "    precision: float16\n", ("--atol-scale", "1e-2"))
        self.assertEqual(nodes, 4)
        cached = json.loads(self.deputy("cache", "ls", "--json").stdout)
        self.assertIn("onnxruntime", [entry["delegate"] for entry in cached["entries"]], cached)

    def test_QnnWithoutHalfPrecisionHasNone(self):
        options = {"runtime": "libonnxruntime.so.1", "library": "libonnxruntime_providers_qnn.so",
                   "qnn": {"soc_model": 57, "enable_htp_fp16_precision": 0}}  # fmt: skip
        nodes, said = self.placed(options, "    precision: float16\n")
        self.assertEqual(nodes, 0)
        self.assertIn("computes floats in float32", said)

    def test_ShippedConfigurationsUseTheirProviders(self):
        for name, tolerance in (("ggml", "1e-4"), ("qnn", "1e-2")):
            with self.subTest(name):
                done = self.deputy("run", self.model, "--config", name, "--input", f"x={self.scratch}/x.npy", "--expect",
                                   f"y={self.scratch}/y.npy", "--atol-scale", tolerance, "--json")  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["delegates"][0]["name"], name)
                self.assertGreater(json.loads(done.stdout)["delegates"][0]["nodes"], 2, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--guests", required=True, help="the folder that packaging/guests.sh makes")
    parser.add_argument("--fixtures", required=True, help="the folder of libfixture_ort_ep.so")
    ARGS, rest = parser.parse_known_args()
    ARGS.fixtures = os.path.abspath(ARGS.fixtures)
    if runtime() is None:
        print("no ONNX Runtime in this Python: packaging/peers.sh makes one with it")
        sys.exit(77)
    if "Guests" in rest and not (Path(ARGS.guests) / "env.sh").exists():
        print(f"no {ARGS.guests}: packaging/guests.sh makes it")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
