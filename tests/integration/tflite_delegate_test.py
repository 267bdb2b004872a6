#!/usr/bin/env python3
"""Deputy as an external delegate in LiteRT's Python: load_delegate(libdeputy_tflite.so), beside the interpreter alone.
Exits 77, with the reason, where the interpreter is missing.

  tflite_delegate_test.py --library libdeputy_tflite.so --deputy DEPUTY --fixtures DIR --data DIR [unittest's arguments]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

try:
    import numpy as np
    import tflite_subgraphs  # more CASES
    import tflite_test
    from ai_edge_litert.interpreter import Interpreter, load_delegate
    from tflite_custom_test import OPTIONS, custom
    from tflite_models import Writer, with_float_weights
    from tflite_networks import Network
    from tflite_operators import CASES, i32
    from tflite_states import CASES as STATES
    from tflite_test import MODELS, ROUNDED_ACTIVATIONS, difference
except ImportError as error:
    print(f"skipped: {error}; packaging/peers.sh installs what is missing")
    sys.exit(77)

ARGS = None
QUIET = "log.level=error"
HALF = 2e-2  # of the largest element, where products have 11 bits
SEEDS = (1, 2, 4, 5, 8)


def requires(plugin):
    """Of a test that needs a plugin which not every build has."""
    def decorate(test):
        def run(self):
            if not (Path(ARGS.library).parent / "deputy" / "plugins" / f"{plugin}.so").exists():
                self.skipTest(f"the plugin {plugin} was not built")
            test(self)
        return run
    return decorate


class DelegateTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.report_file = self.scratch / "report.json"

    def config(self, delegates, *more):
        path = self.scratch / "edge.yaml"
        path.write_text("\n".join(["version: 1", "cache: {dir: 'off'}", f"delegates: {delegates}", *more]) + "\n")
        return str(path)

    def fixture(self, name, entry="", *more):
        """A configuration with a plugin that no lock lists, and that a process of its own serves."""
        (self.scratch / "plugins").mkdir(exist_ok=True)
        shutil.copy(Path(ARGS.fixtures) / f"{name}.so", self.scratch / "plugins")
        return self.config(f"[{{name: {name}{entry}}}]", f"plugins: {{paths: [{self.scratch}/plugins]}}", *more)

    def load(self, config, settings=QUIET, **more):
        return load_delegate(ARGS.library,
                             {"config": config, "settings": settings, "report": str(self.report_file), **more})

    def report(self):
        return json.loads(self.report_file.read_text())

    @staticmethod
    def start(content, inputs, delegate=None):
        interpreter = Interpreter(model_content=content, num_threads=1,
                                  experimental_delegates=None if delegate is None else [delegate])
        for detail, array in zip(interpreter.get_input_details(), inputs):
            if list(detail["shape"]) != list(array.shape):
                interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
        return interpreter

    @staticmethod
    def run_once(interpreter, inputs):
        for detail, array in zip(interpreter.get_input_details(), inputs):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    def alone(self, content, inputs):
        return self.run_once(self.start(content, inputs), inputs)

    def delegated(self, content, inputs, config, runs=1, **options):
        """The results, and the report that is written when the delegate is gone."""
        delegate = self.load(config, **options)
        interpreter = self.start(content, inputs, delegate)
        for _ in range(runs):
            results = self.run_once(interpreter, inputs)
        del interpreter, delegate
        return results, self.report()

    def assert_alike(self, ours, theirs, relative=1e-5):
        for a, b in zip(ours, theirs, strict=True):
            self.assertIsNone(difference(a, b, relative))

    @staticmethod
    def nodes_of(report, delegate):
        return sum(entry["nodes"] for graph in report["graphs"] for partition in graph["partitions"]
                   for entry in partition["placement"]["delegates"] if entry["name"] == delegate)  # fmt: skip

    @staticmethod
    def left(report):
        return {node["operator"]: node["reason"] for graph in report["graphs"] for node in graph["left"]}

    @staticmethod
    def relu_model(steps=1):
        """Of `steps` RELUs behind another."""
        writer = Writer()
        last = writer.input("float32", (2, 3), signature=(-1, 3))
        for _ in range(steps):
            before, last = last, writer.tensor("float32", (2, 3), signature=(-1, 3))
            writer.add("RELU", [before], [last])
        return writer.finish([last]), [np.array([[1.5, -2, 0.125], [-4, 5.25, -6]], "float32")]


class Plugins(DelegateTest):
    """The plugins of the tree, each on five networks and on real models."""

    def networks(self, delegates, name, relative):
        config = self.config(delegates)
        for seed in SEEDS:
            with self.subTest(seed=seed):
                network = Network(seed)
                content = network.finish()
                theirs = self.alone(content, network.it.inputs)
                ours, report = self.delegated(content, network.it.inputs, config, runs=2)
                self.assert_alike(ours, theirs, relative)
                self.assertGreater(self.nodes_of(report, name), 0)
                self.assertEqual([part["runs"] for part in report["graphs"][0]["partitions"]], [2])
                self.assertFalse(report["health"]["degraded"])

    @requires("sim_npu")
    def test_SimulatedNpu(self):
        self.networks("[{name: npu0, delegate: sim_npu}]", "npu0", HALF)

    @requires("onednn")
    def test_OneDnn(self):
        self.networks("[{name: onednn, options: {accept: everything}}]", "onednn", 1e-5)

    @requires("sim_npu")
    @requires("onednn")
    def test_RealModels(self):
        if not os.path.isdir(os.path.join(ARGS.data, "models")):
            self.skipTest(f"no models at {ARGS.data}; set DEPUTY_TEST_DATA to a folder with models/")
        for name in MODELS:
            with open(os.path.join(ARGS.data, "models", name, "model.tflite"), "rb") as file:
                content = file.read()
            exact = with_float_weights(content)
            rng = np.random.default_rng(3)
            inputs = [tflite_test.RealModels.draw(rng, detail)
                      for detail in Interpreter(model_content=content).get_input_details()]
            for delegates, relative in (("[]", 1e-5), ("[{name: onednn}]", 1e-5), ("[{name: sim_npu}]", HALF)):
                with self.subTest(model=name, delegates=delegates):
                    ours, report = self.delegated(content, inputs, self.config(delegates), runs=3)
                    graph = report["graphs"][0]
                    self.assertEqual((graph["delegated"], graph["left"]), (graph["nodes"], []))
                    if name != "tiny_resnet8_int8" or delegates != "[{name: sim_npu}]":
                        self.assert_alike(ours, self.alone(content, inputs),
                                          relative if exact is None else ROUNDED_ACTIVATIONS)
                    if exact is not None:
                        self.assert_alike(ours, self.alone(exact, inputs), relative)
                    self.assert_same_as_the_command(content, inputs, ours, self.config(delegates))

    def assert_same_as_the_command(self, content, inputs, ours, config):
        """The same file and configuration in Deputy itself."""
        model, out = self.scratch / "model.tflite", self.scratch / "out"
        shutil.rmtree(out, ignore_errors=True)
        model.write_bytes(content)
        command = [ARGS.deputy, "run", str(model), "--config", config, "--output-dir", str(out)]
        details = Interpreter(model_content=content).get_input_details()
        for index, (detail, array) in enumerate(zip(details, inputs)):
            np.save(self.scratch / f"{index}.npy", array)
            command += ["--input", f"{detail['name']}={self.scratch}/{index}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = next(line for line in done.stdout.splitlines() if line.startswith("written to ")).split(": ", 1)[1]
        for name, array in zip(names.split(", "), ours, strict=True):
            np.testing.assert_array_equal(array, np.load(out / name))


class Operators(DelegateTest):
    def test_AllThatTheImporterReads(self):
        config, left = self.config("[]"), []
        for name, make in CASES.items():
            with self.subTest(case=name):
                made, outputs = make()
                content = made.writer.finish(outputs)
                ours, report = self.delegated(content, made.inputs, config)
                self.assert_alike(ours, self.alone(content, made.inputs), 2e-5 if "GELU" in name else 1e-5)
                for graph in report["graphs"]:
                    self.assertEqual(graph["nodes"], graph["delegated"] + len(graph["left"]))
                    self.assertNotIn("", [node["reason"] for node in graph["left"]])
                if not any(graph["delegated"] for graph in report["graphs"]):
                    left.append(name)
        self.assertGreater(len(CASES), 300)
        self.assertEqual(left, ["SHAPE, STRIDED_SLICE, PACK and RESHAPE", "WHERE", "RANGE"])  # shapes of values

    def test_StatesStayWithTheInterpreter(self):
        config = self.config("[]")
        for name, make in STATES.items():
            with self.subTest(case=name):
                made, outputs, runs = make()
                content = made.writer.finish(outputs)
                plain = self.start(content, runs[0])
                interpreter = self.start(content, runs[0], self.load(config))
                for _ in range(2):
                    for inputs in runs:
                        ours, theirs = self.run_once(interpreter, inputs), self.run_once(plain, inputs)
                        self.assert_alike(ours, theirs, ROUNDED_ACTIVATIONS if "hybrid" in name else 2e-5)
                    interpreter.reset_all_variables()
                    plain.reset_all_variables()

    def test_NodesAroundAShapeThatDependsOnValues(self):
        writer = Writer()
        x = writer.input("float32", (2, 3))
        positive, places, last = (writer.tensor(dtype, shape)
                                  for dtype, shape in (("bool", (2, 3)), ("int64", (6, 2)), ("int64", (6, 2))))
        twice = writer.tensor("float32", (2, 3))
        writer.add("ADD", [x, x], [twice], fusedActivationFunction=0)
        writer.add("GREATER", [twice, writer.constant(np.float32(0))], [positive])
        writer.add("WHERE", [positive], [places])
        writer.add("ADD", [places, writer.constant(np.int64(10))], [last], fusedActivationFunction=0)
        content = writer.finish([last, twice])
        delegate = self.load(self.config("[]"))
        interpreter = self.start(content, [np.zeros((2, 3), "float32")], delegate)
        for values in ([[1, -1, 1], [-1, -1, -1]], [[1, 1, 1], [1, -1, 1]], [[-1, -1, -1], [-1, -1, 2]]):
            array = np.array(values, "float32")
            self.assert_alike(self.run_once(interpreter, [array]), self.alone(content, [array]))
        del interpreter, delegate
        report = self.report()
        self.assertIn("depends on values", self.left(report)["WHERE"])
        self.assertEqual(report["graphs"][0]["delegated"], 3)

    def test_ACustomOperatorThatOnlyAPluginKnows(self):
        writer = Writer()
        x = writer.input("float32", (2, 3))
        made, y = writer.tensor("float32", (2, 3)), writer.tensor("float32", (2, 3))
        custom(writer, "edgetpu-custom-op", [x], [made], OPTIONS)
        writer.add("TANH", [made], [y])
        content = writer.finish([y])
        inputs = self.relu_model()[1]
        ours, report = self.delegated(content, inputs, self.fixture("takes_custom"))
        np.testing.assert_allclose(ours[0], np.tanh(np.maximum(inputs[0], 0)), rtol=1e-6)
        self.assertEqual(self.nodes_of(report, "takes_custom"), 1)

    def test_ACustomOperatorThatNoPluginKnowsIsLeft(self):
        writer = Writer()
        x = writer.input("float32", (2, 3))
        made, y = writer.tensor("float32", (2, 3)), writer.tensor("float32", (2, 3))
        writer.add("RELU", [x], [made])
        custom(writer, "vendor-op", [made], [y], b"")
        delegate = self.load(self.config("[]"))
        with self.assertRaisesRegex(RuntimeError, "vendor-op"):  # the interpreter has none either
            self.start(writer.finish([y]), [np.zeros((2, 3), "float32")], delegate)
        del delegate
        self.assertIn("tflite.custom.vendor-op", self.left(self.report())["vendor-op"])
        self.assertEqual(self.report()["graphs"][0]["delegated"], 1)


class Shapes(DelegateTest):
    @requires("onednn")
    def test_InputsAreResizedAndResizedBack(self):
        content, inputs = self.relu_model(3)
        delegate = self.load(self.config("[{name: onednn, options: {accept: everything}}]"))
        interpreter = self.start(content, inputs, delegate)
        (detail,) = interpreter.get_input_details()
        for rows in (2, 5, 1, 7, 2):
            array = np.random.default_rng(rows).standard_normal((rows, 3), np.float32)
            interpreter.resize_tensor_input(detail["index"], array.shape)
            interpreter.allocate_tensors()
            self.assert_alike(self.run_once(interpreter, [array]), [np.maximum(array, 0)])
        del interpreter, delegate
        (part,) = self.report()["graphs"][0]["partitions"]
        self.assertEqual((part["runs"], self.nodes_of(self.report(), "onednn")), (5, 3))

    @requires("onednn")
    def test_AConvolutionOfOtherImages(self):
        writer = Writer()
        rng = np.random.default_rng(1)
        x = writer.input("float32", (1, 8, 8, 3), signature=(1, -1, -1, 3))
        y = writer.tensor("float32", (1, 4, 4, 5), signature=(1, -1, -1, 5))
        weights = writer.constant(rng.standard_normal((5, 3, 3, 3), np.float32))
        bias = writer.constant(rng.standard_normal(5, np.float32))
        writer.add("CONV_2D", [x, weights, bias], [y], padding=0, strideW=2, strideH=2, dilationWFactor=1,
                   dilationHFactor=1, fusedActivationFunction=1)
        content = writer.finish([y])
        delegate = self.load(self.config("[{name: onednn, options: {accept: everything}}]"))
        interpreter = self.start(content, [np.zeros((1, 8, 8, 3), "float32")], delegate)
        (detail,) = interpreter.get_input_details()
        for size in ((8, 8), (5, 7), (16, 3), (8, 8)):
            array = rng.standard_normal((1, *size, 3), np.float32)
            interpreter.resize_tensor_input(detail["index"], array.shape)
            interpreter.allocate_tensors()
            self.assert_alike(self.run_once(interpreter, [array]), self.alone(content, [array]))

    def test_TensorsWithoutElements(self):
        content, inputs = self.relu_model(2)
        interpreter = self.start(content, inputs, self.load(self.config("[]")))
        (detail,) = interpreter.get_input_details()
        for rows in (0, 2, 0):
            array = np.ones((rows, 3), "float32")
            interpreter.resize_tensor_input(detail["index"], array.shape)
            interpreter.allocate_tensors()
            self.assert_alike(self.run_once(interpreter, [array]), [array])

    def test_AShapeThatTheNodesRefuseIsAnError(self):
        writer = Writer()
        x, y = writer.input("float32", (2, 3)), writer.tensor("float32", (6,))
        writer.add("RESHAPE", [x, writer.constant(i32(6))], [y])
        interpreter = self.start(writer.finish([y]), [np.zeros((2, 3), "float32")], self.load(self.config("[]")))
        interpreter.resize_tensor_input(x, (5, 3))
        with self.assertRaisesRegex(RuntimeError, "deputy: .*node 0.*RESHAPE.*cannot reshape"):
            interpreter.allocate_tensors()


class NoFallback(DelegateTest):
    @requires("sim_npu")
    def test_NodesOfNoDelegateStayWithTheInterpreter(self):
        writer = Writer()
        x = writer.input("float32", (1, 3))
        a, b, c = (writer.tensor("float32", (1, 3)) for _ in range(3))
        writer.add("RELU", [x], [a])
        writer.add("EXP", [a], [b])
        writer.add("RELU", [b], [c])
        content, inputs = writer.finish([c]), [np.array([[-1, 0.5, 2]], "float32")]
        config = self.config("[{name: sim_npu}]", "fallback: none")
        ours, report = self.delegated(content, inputs, config)
        self.assert_alike(ours, self.alone(content, inputs))
        self.assertEqual(report["graphs"][0]["delegated"], 2)
        self.assertEqual(len(report["graphs"][0]["partitions"]), 2)
        self.assertEqual(self.nodes_of(report, "cpu"), 0)
        self.assertRegex(self.left(report)["EXP"], "no delegate runs .*sim_npu: ")


class Faults(DelegateTest):
    """Plugins that are wrong, in processes of their own: the results are right, and this process stays."""

    def assert_survives(self, name, *more, failures=True):
        content, inputs = self.relu_model(2)
        ours, report = self.delegated(content, inputs, self.fixture(name, *more), runs=3)
        self.assert_alike(ours, [np.maximum(inputs[0], 0)])
        if failures:
            self.assertIn(name, [incident["delegate"] for incident in report["health"]["incidents"]])
        self.assertEqual([part["failures"] for part in report["graphs"][0]["partitions"]], [0])
        return report

    def test_APluginThatCrashesWhereItRuns(self):
        report = self.assert_survives("crashes_in_execute")
        self.assertIn("SIGSEGV", report["health"]["incidents"][0]["failure"])
        self.assertEqual(report["health"]["incidents"][0]["taken_over"], "cpu")

    def test_APluginThatEndsItsProcessWhereItRuns(self):
        self.assert_survives("exits_in_execute")

    def test_APluginThatCrashesWhereItCompiles(self):
        report = self.assert_survives("crashes_in_compile", failures=False)
        self.assertEqual(self.nodes_of(report, "crashes_in_compile"), 0)

    def test_APluginThatFailsWhereItRuns(self):
        self.assert_survives("fails_execute")

    def test_APluginThatComputesWrongly(self):
        self.assert_survives("wrong_values")

    def test_WithoutAnAlternativeTheRunFailsWithTheReason(self):
        content, inputs = self.relu_model()
        delegate = self.load(self.fixture("fails_execute", ", on_failure: fail"))
        interpreter = self.start(content, inputs, delegate)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "deputy: .*fails_execute"):
                self.run_once(interpreter, inputs)
        del interpreter, delegate
        (part,) = self.report()["graphs"][0]["partitions"]
        self.assertEqual((part["runs"], part["failures"]), (2, 2))
        self.assertIn("fails_execute", part["last_failure"])

    def test_SeveralInterpretersInThreadsShareADelegate(self):
        content, inputs = self.relu_model(2)
        delegate = self.load(self.fixture("crashes_in_execute"))
        wrong = []

        def work():
            interpreter = self.start(content, inputs, delegate)
            for _ in range(5):
                if not np.array_equal(self.run_once(interpreter, inputs)[0], np.maximum(inputs[0], 0)):
                    wrong.append(threading.get_ident())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del delegate
        self.assertEqual(wrong, [])
        self.assertEqual(sum(part["runs"] for graph in self.report()["graphs"] for part in graph["partitions"]), 20)


class Options(DelegateTest):
    def refusal(self, options):
        with self.assertRaises(ValueError) as raised:
            load_delegate(ARGS.library, options)
        return str(raised.exception)

    def test_AnUnknownKeyIsRefusedWithTheNearest(self):
        self.assertIn("unknown option 'confg'; did you mean 'config'?", self.refusal({"confg": "x"}))

    @requires("sim_npu")
    def test_AnErrorOfTheConfigurationHasItsPlace(self):
        config = self.config("[{name: onednn, optoins: {}}]")
        said = self.refusal({"config": config})
        self.assertRegex(said, r"edge\.yaml:3:\d+")
        self.assertIn("did you mean 'options'", said)
        self.assertIn("no.yaml", self.refusal({"config": str(self.scratch / "no.yaml")}))
        self.assertIn("frequency", self.refusal({"config": self.config("[{name: sim_npu, options: {frequency: 17}}]")}))

    def test_AReportThatCannotBeWrittenIsRefusedAtOnce(self):
        self.assertIn("nowhere", self.refusal({"report": str(self.scratch / "nowhere" / "r.json")}))

    @requires("sim_npu")
    def test_SettingsOverrideTheFile(self):
        content, inputs = self.relu_model()
        _, report = self.delegated(content, inputs, self.config("[{name: sim_npu, options: {frequency: high}}]"),
                                   settings=QUIET + ";delegates.sim_npu.options.frequency=low")
        options = [entry["options"] for entry in report["graphs"][0]["partitions"][0]["placement"]["delegates"]
                   if entry["name"] == "sim_npu"]  # fmt: skip
        self.assertEqual(options[0]["frequency"], "300MHz")

    @requires("onednn")
    def test_WithoutOptionsItIsTheMachinesConfiguration(self):
        config = self.config("[{name: onednn, options: {accept: everything}}]")
        code = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import numpy as np\n"
                "from ai_edge_litert.interpreter import Interpreter, load_delegate\n"
                f"delegate = load_delegate({ARGS.library!r}, {{'report': 'log'}})\n"
                "interpreter = Interpreter(model_path=sys.argv[1], experimental_delegates=[delegate])\n"
                "interpreter.allocate_tensors(); interpreter.invoke(); del interpreter, delegate\n")
        model = self.scratch / "model.tflite"
        model.write_bytes(self.relu_model()[0])
        done = subprocess.run([sys.executable, "-c", code, str(model)], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "DEPUTY_CONFIG": config})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("deputy: 1 of 1 nodes in 1 partitions", done.stderr)
        self.assertRegex(done.stderr, r"deputy:   .*onednn 1/1 node.*; 1 runs, 0 failed")


class Documents(DelegateTest):
    @requires("sim_npu")
    @requires("onednn")
    def test_TheExampleRunsAsItStands(self):
        page = (Path(__file__).resolve().parents[2] / "host" / "docs" / "in-other-hosts.md").read_text()
        for name, language in (("edge.yaml", "yaml"), ("run.py", "python")):
            (block,) = re.findall(rf"`{name}`:\n\n```{language}\n(.*?)```", page, re.S)
            (self.scratch / name).write_text(block)
        (self.scratch / "model.tflite").write_bytes(self.relu_model()[0])
        done = subprocess.run([sys.executable, "run.py", str(Path(ARGS.library).resolve()), "model.tflite"],
                              capture_output=True, text=True, timeout=100, cwd=self.scratch)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[[", done.stdout)
        self.assertEqual(self.nodes_of(self.report(), "npu0"), 1)


class Library(unittest.TestCase):
    def test_ExportsTheTwoFunctionsOnly(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", ARGS.library], capture_output=True, text=True, check=True)
        names = [re.sub(r"@@?\w+$", "", line.split()[-1]) for line in listing.stdout.splitlines()]
        self.assertEqual(sorted(names), ["tflite_plugin_create_delegate", "tflite_plugin_destroy_delegate"])


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("library", "deputy", "fixtures", "data"):
        parser.add_argument(f"--{name}", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
