#!/usr/bin/env python3
"""A vendor's external delegate of TensorFlow Lite (tests/fixtures/tflite_delegates) in LiteRT, and in Deputy by the plugin
tflite_external: the same answers. Exits 77, with the reason, where LiteRT or the plugin is missing.

  tflite_external_test.py --library libdeputy_tflite.so --vendor libvendor.so --deputy DEPUTY --fixtures DIR --data DIR
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes as onnx

try:
    import numpy as np
    import tflite_delegate_test
    from ai_edge_litert.interpreter import load_delegate
    from tflite_delegate_test import DelegateTest
    from tflite_models import Writer
    from tflite_networks import Network
    from tflite_operators import CASES, i32
except ImportError as error:
    print(f"skipped: {error}; packaging/peers.sh installs what is missing")
    sys.exit(77)

ARGS = None


def plugin():
    return Path(ARGS.library).parent / "deputy" / "plugins" / "tflite_external.so"


class ExternalTest(DelegateTest):
    def vendor(self, options="", entry="", *more):
        """A configuration with the plugin, which no lock lists here, and the vendor's library beside it."""
        folder = self.scratch / "plugins"
        folder.mkdir(exist_ok=True)
        shutil.copy(plugin(), folder)
        shutil.copy(ARGS.vendor, folder / "libvendor.so")
        return self.config(f"[{{name: vendor, delegate: tflite_external{entry}, "
                           f"options: {{library: libvendor.so, options: '{options}'}}}}]",
                           f"plugins: {{paths: [{folder}]}}", *more)

    def refusals(self, report):
        """By operator of ONNX, the reasons why the vendor does not run nodes."""
        return {node["op_type"]: refusal["detail"] for graph in report["graphs"] for part in graph["partitions"]
                for node in part["placement"]["nodes"] for refusal in node["refusals"]
                if refusal["delegate"] == "vendor"}  # fmt: skip

    @staticmethod
    def classifier():
        """All operators that the vendor has."""
        writer, rng = Writer(), np.random.default_rng(5)

        def reals(*shape):
            return (rng.standard_normal(shape, np.float32) * 0.3).astype("float32")

        def op(name, inputs, shape, **options):
            made = writer.tensor("float32", shape)
            writer.add(name, inputs, [made], **options)
            return made

        x = writer.input("float32", (1, 9, 8, 3))
        conv = {"dilationWFactor": 1, "dilationHFactor": 1}
        first = op("CONV_2D", [x, writer.constant(reals(8, 3, 3, 3)), writer.constant(reals(8))], (1, 5, 4, 8),
                   padding=0, strideW=2, strideH=2, fusedActivationFunction=1, **conv)
        second = op("DEPTHWISE_CONV_2D", [first, writer.constant(reals(1, 3, 3, 8)), writer.constant(reals(8))],
                    (1, 5, 4, 8), padding=0, strideW=1, strideH=1, depthMultiplier=1, fusedActivationFunction=3, **conv)
        sum_ = op("ADD", [op("MUL", [second, writer.constant(reals(8))], (1, 5, 4, 8), fusedActivationFunction=0), first],
                  (1, 5, 4, 8), fusedActivationFunction=0)
        pooled = op("MAX_POOL_2D", [op("RELU6", [op("RELU", [sum_], (1, 5, 4, 8))], (1, 5, 4, 8))], (1, 3, 2, 8),
                    padding=0, strideW=2, strideH=2, filterWidth=3, filterHeight=3, fusedActivationFunction=0)
        mean = op("AVERAGE_POOL_2D", [pooled], (1, 1, 1, 8), padding=1, strideW=1, strideH=1, filterWidth=2,
                  filterHeight=3, fusedActivationFunction=0)
        flat = op("RESHAPE", [mean, writer.constant(i32(1, 8))], (1, 8))
        scores = op("FULLY_CONNECTED", [flat, writer.constant(reals(5, 8)), writer.constant(reals(5))], (1, 5),
                    fusedActivationFunction=0)
        probabilities = op("SOFTMAX", [scores], (1, 5), beta=1.0)
        return writer.finish([probabilities]), [rng.standard_normal((1, 9, 8, 3), np.float32)]


class SameAnswers(ExternalTest):
    def in_litert(self, content, inputs):
        """The vendor's delegate in its own host."""
        return self.run_once(self.start(content, inputs, load_delegate(ARGS.vendor)), inputs)

    def test_OfAllItsOperators(self):
        content, inputs = self.classifier()
        theirs = self.in_litert(content, inputs)
        self.assert_alike(theirs, self.alone(content, inputs))
        ours, report = self.delegated(content, inputs, self.vendor(), runs=3)
        self.assert_alike(ours, theirs, 1e-6)
        nodes = [node for part in report["graphs"][0]["partitions"] for node in part["placement"]["nodes"]]
        self.assertEqual({node["op_type"] for node in nodes if node["delegate"] != "vendor"}, {"Transpose"})
        self.assertGreaterEqual(self.nodes_of(report, "vendor"), 12)
        self.assertEqual(report["health"]["incidents"], [])

    def test_OfNetworksThatItRunsInParts(self):
        parts = 0
        for seed in range(24):
            with self.subTest(seed=seed):
                network = Network(seed)
                content, inputs = network.finish(), network.it.inputs
                ours, report = self.delegated(content, inputs, self.vendor())
                self.assert_alike(ours, self.in_litert(content, inputs))
                parts += self.nodes_of(report, "vendor")
                self.assertEqual(report["health"]["incidents"], [])
        self.assertGreater(parts, 30)

    def test_OfOperatorsWithoutVerification(self):
        """In this process, with nothing that would replace a wrong result."""
        config, taken = self.vendor("", ", isolation: none, verify: never"), []
        for name, make in CASES.items():
            with self.subTest(case=name):
                made, outputs = make()
                content = made.writer.finish(outputs)
                ours, report = self.delegated(content, made.inputs, config)
                if self.nodes_of(report, "vendor") != 0:
                    taken.append(name)
                    self.assert_alike(ours, self.alone(content, made.inputs))
                    self.assertEqual(report["health"]["incidents"], [])
        self.assertGreater(len(taken), 100)
        for name in ("CONV_2D int8 per tensor", "CONV_2D uint8", "FULLY_CONNECTED int8 per channel", "ADD int8 broadcast"):
            self.assertIn(name, taken)

    def test_IntegersReachItWithTheirScales(self):
        """A delegate that takes no conversions computes convolutions of integers all the same."""
        for case, op_type in (("CONV_2D int8 padding 1 stride 1 dilation 1 activation 1", "Conv"),
                              ("ADD int8 activation 3", "Add"), ("MUL int8", "Mul")):  # fmt: skip
            made, outputs = CASES[case]()
            content = made.writer.finish(outputs)
            for options, expected in (("refuse=6", True), ("floats=1", False)):
                with self.subTest(case=case, options=options):
                    ours, report = self.delegated(content, made.inputs, self.vendor(options, ", verify: never"))
                    self.assert_alike(ours, self.alone(content, made.inputs))
                    owners = {node["op_type"]: node["delegate"] for part in report["graphs"][0]["partitions"]
                              for node in part["placement"]["nodes"]}  # fmt: skip
                    self.assertEqual(owners[op_type] == "vendor", expected)

    def test_OfAQuantizedModel(self):
        path = os.path.join(ARGS.data, "models", "tiny_resnet8_int8", "model.tflite")
        if not os.path.exists(path):
            self.skipTest(f"no models at {ARGS.data}; set DEPUTY_TEST_DATA to a folder with models/")
        with open(path, "rb") as file:
            content = file.read()
        inputs = [np.random.default_rng(2).integers(-128, 127, (1, 32, 32, 3), np.int8, endpoint=True)]
        ours, report = self.delegated(content, inputs, self.vendor("", ", verify: never"))
        self.assertGreater(self.nodes_of(report, "vendor"), 60)
        self.assert_alike(ours, self.in_litert(content, inputs))

    def test_OfModelsInTheLayoutOfOnnx(self):
        for model in ("mnist_cntk", "ultraface_rfb_320"):
            folder = os.path.join(ARGS.data, "models", model)
            if not os.path.isdir(folder):
                self.skipTest(f"no models at {ARGS.data}; set DEPUTY_TEST_DATA to a folder with models/")
            with self.subTest(model=model):
                done = subprocess.run([ARGS.deputy, "test-case", folder, "--config", self.vendor()],
                                      capture_output=True, text=True, timeout=300)
                self.assertIn("1 passed, 0 failed", done.stdout, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"vendor [1-9]\d*/\d+ nodes")


class Quantized(ExternalTest):
    """ONNX models that no file of TensorFlow Lite can be, on a vendor in this process without verification."""

    INT8, INT32 = 3, 6

    def scales(self, name, values, dtype=INT8):
        """Constants NAME_scale and NAME_zero, for one index of an axis each or, if there is one, for the tensor."""
        dims, zeros = [len(values)] if len(values) > 1 else [], bytes(len(values) * (4 if dtype == self.INT32 else 1))
        return [onnx.tensor(values, dims, f"{name}_scale"), onnx.integer_tensor(dtype, zeros, dims, f"{name}_zero")]

    @staticmethod
    def convert(op_type, source, target, scales, **attributes):
        return onnx.node(op_type, [source, f"{scales}_scale", f"{scales}_zero"], [target], target, **attributes)

    def deputy(self, *arguments):
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def owners(self, content, options):
        """The delegates of the nodes by name; the results are those of the CPU."""
        model, config = self.scratch / "model.onnx", self.vendor(options, ", isolation: none, verify: never")
        model.write_bytes(content)
        for folder, chosen in (("ours", config), ("cpu", "cpu-only")):
            self.deputy("run", model, "--config", chosen, "--seed", 3, "--output-dir", self.scratch / folder)
        for path in (self.scratch / "cpu").iterdir():
            np.testing.assert_array_equal(np.load(self.scratch / "ours" / path.name), np.load(path))
        report = json.loads(self.deputy("partition", model, "--json", "--config", config))
        return {node["name"]: node["delegate"] for node in report["nodes"]}

    def test_ScalesOfInputChannelsMakeFloatsOfWeights(self):
        """The guest has those of output channels only. A delegate without operators on integers shows the form."""
        for axis, owner in ((0, "cpu"), (1, "vendor")):
            with self.subTest(axis=axis):
                nodes = [self.convert("QuantizeLinear", "x", "q", "x"), self.convert("DequantizeLinear", "q", "d", "x"),
                         self.convert("DequantizeLinear", "weights", "w", "w", axis=axis),
                         self.convert("DequantizeLinear", "bias", "b", "b", axis=0),
                         onnx.node("Conv", ["d", "w", "b"], ["c"], "c"), self.convert("QuantizeLinear", "c", "y", "y")]
                constants = [onnx.integer_tensor(self.INT8, struct.pack("4b", 1, 2, -3, 4), [2, 2, 1, 1], "weights"),
                             onnx.integer_tensor(self.INT32, struct.pack("<2i", 5, -6), [2], "bias"),
                             *self.scales("x", [0.5]), *self.scales("w", [0.5, 0.125]),
                             *self.scales("b", [0.25, 0.0625], self.INT32), *self.scales("y", [0.125])]  # fmt: skip
                content = onnx.model(nodes, [onnx.value_info("x", [1, 2, 3, 3])],
                                     [onnx.value_info("y", [1, 2, 3, 3], self.INT8)], (), constants)  # fmt: skip
                self.assertEqual(self.owners(content, "floats=1")["c"], owner)

    def test_FloatsThatOthersReadAreNotFusedAway(self):
        """A delegate without DEQUANTIZE takes the sum of integers where it is fused, and floats otherwise."""
        nodes = [self.convert("QuantizeLinear", "x", "q", "x"), self.convert("DequantizeLinear", "q", "d", "x"),
                 onnx.node("Add", ["d", "d"], ["sum"], "sum"), self.convert("QuantizeLinear", "sum", "y", "x")]
        floats, y = (lambda name: onnx.value_info(name, [2, 3])), onnx.value_info("y", [2, 3], self.INT8)
        for case, more, outputs, owner in (("fused", [], [y], "vendor"), ("a result", [], [y, floats("sum")], "cpu"),
                                           ("read", [onnx.node("Sign", ["sum"], ["s"], "s")], [y, floats("s")], "cpu")):
            with self.subTest(case=case):
                content = onnx.model(nodes + more, [floats("x")], outputs, (), self.scales("x", [0.25]))
                owners = self.owners(content, "refuse=6")
                self.assertEqual([owners[name] for name in ("d", "sum", "y")], [owner, "vendor", "vendor"])


class Parts(ExternalTest):
    def test_WhatItRefusesIsRunByTheNext(self):
        content, inputs = self.classifier()
        ours, report = self.delegated(content, inputs, self.vendor("refuse=25"))
        self.assert_alike(ours, self.alone(content, inputs))
        self.assertEqual(self.refusals(report)["Softmax"], "the library's delegate does not take it")

    def test_AnOperatorWithoutAFormSaysSo(self):
        writer = Writer()
        x = writer.input("float32", (2, 3))
        y = writer.tensor("float32", (2, 3))
        writer.add("CUMSUM", [x, writer.constant(np.int32(1))], [y], exclusive=False, reverse=False)
        _, report = self.delegated(writer.finish([y]), [np.ones((2, 3), "float32")], self.vendor())
        self.assertEqual(self.refusals(report)["CumSum"], "has no form in TensorFlow Lite here")

    def test_WhatIsLeftIsOfferedAgain(self):
        """A delegate that takes four nodes at a time."""
        content, inputs = self.classifier()
        ours, report = self.delegated(content, inputs, self.vendor("at_once=4"))
        self.assert_alike(ours, self.alone(content, inputs))
        self.assertNotIn("the library's delegate does not take it", self.refusals(report).values())


class Faults(ExternalTest):
    """The results are right, and this process stays."""

    def assert_survives(self, fault, runs=2):
        content, inputs = self.classifier()
        ours, report = self.delegated(content, inputs, self.vendor(f"fault={fault}"), runs=runs)
        self.assert_alike(ours, self.alone(content, inputs))
        return report

    def test_ADelegateThatRefusesTheWholeGraph(self):
        self.assertIn("cannot be applied: vendor: no license", self.refusals(self.assert_survives("apply"))["Gemm"])

    def test_KernelsThatCannotBeMade(self):
        self.assertEqual(self.nodes_of(self.assert_survives("init"), "vendor"), 0)
        report = self.assert_survives("prepare")
        self.assertEqual(self.nodes_of(report, "vendor"), 0)
        self.assertIn("cannot be prepared: vendor: cannot prepare of node 7", self.refusals(report)["Gemm"])

    def test_AFunctionThatIsNotEmulatedIsNamed(self):
        for name in ("AllocatePersistentBuffer", "AllocateBufferForEval", "RequestScratchBufferInArena",
                     "GetExternalContext", "GetModelMetadata", "AcquireSubgraphContext"):  # fmt: skip
            with self.subTest(function=name):
                self.assertIn(f"{name} is not available here", self.refusals(self.assert_survives(name))["Gemm"])

    def test_AKernelThatChangesAShape(self):
        self.assertIn("another shape", self.refusals(self.assert_survives("resize"))["Gemm"])

    def test_ARunThatFails(self):
        (incident, *_) = self.assert_survives("invoke")["health"]["incidents"]
        self.assertIn("vendor: no answer of the device", incident["failure"])
        self.assertEqual(incident["taken_over"], "cpu")

    def test_ACrash(self):
        (incident, *_) = self.assert_survives("crash")["health"]["incidents"]
        self.assertIn("SIGABRT", incident["failure"])

    def test_WrongResults(self):
        report = self.assert_survives("wrong")
        self.assertEqual({incident["delegate"] for incident in report["health"]["incidents"]}, {"vendor"})


class Options(ExternalTest):
    def refusal(self, config):
        with self.assertRaises(ValueError) as raised:
            load_delegate(ARGS.library, {"config": config})
        return str(raised.exception)

    def with_options(self, text):
        self.vendor()  # the folder
        return self.config(f"[{{name: vendor, delegate: tflite_external, required: true, options: {{{text}}}}}]",
                           f"plugins: {{paths: [{self.scratch}/plugins]}}")

    def test_ALibraryIsRequired(self):
        self.assertIn("the option 'library' is empty", self.refusal(self.with_options("library: ''")))
        self.assertIn("libtflite_delegate.so: cannot open", self.refusal(self.with_options("")))

    def test_ALibraryThatIsMissingOrNoDelegate(self):
        self.assertIn("libnone.so", self.refusal(self.with_options("library: libnone.so")))
        self.assertIn("is no external delegate", self.refusal(self.with_options("library: libm.so.6")))

    def test_ADelegateThatIsNotMade(self):
        self.assertIn("libvendor.so makes no delegate: vendor: unknown option speed",
                      self.refusal(self.with_options("library: libvendor.so, options: 'speed=9'")))
        self.assertIn("makes no delegate", self.refusal(self.with_options("library: libvendor.so, options: fault=create")))
        self.assertIn("expected key=value", self.refusal(self.with_options("library: libvendor.so, options: speed")))


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("library", "vendor", "deputy", "fixtures", "data"):
        parser.add_argument(f"--{name}", required=True)
    ARGS, rest = parser.parse_known_args()
    tflite_delegate_test.ARGS = ARGS
    if not plugin().exists():
        print("skipped: the plugin tflite_external was not built")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
