#!/usr/bin/env python3
"""Deputy as an execution provider in ONNX Runtime, as Python's users load it: libdeputy_ort_ep.so. Exits 77, with the
reason, where onnxruntime, or what all of the chosen tests need, is missing.

  onnxruntime_ep_test.py --library SO --plugins DIR --fixtures DIR --data DIR --document PAGE --host PROGRAM
                         [unittest's arguments]
"""

import ctypes
import glob
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

from onnxruntime_ep import (DELEGATES, EAGER, EXACT, HALF, NAME, NPU, Host, TensorProto, arguments, helper, main, model, np,
                            numpy_helper, ort, tensor)


class Devices(Host):
    def test_EachDelegateIsADeviceAndOneIsForTheWholeConfiguration(self):
        devices = [device for device in ort.get_ep_devices() if device.ep_name == NAME]
        self.assertEqual([device.ep_metadata.get("delegate") for device in devices], [None, "npu0", "onednn"])
        self.assertEqual([device.ep_metadata["scope"] for device in devices],
                         ["configuration", "delegate", "delegate"])
        self.assertEqual(devices[1].ep_metadata["delegate_id"], "sim_npu")
        self.assertEqual(devices[0].device.type, ort.OrtHardwareDeviceType.CPU)

    def test_NineDelegatesHaveDevicesAsFarAsThereIsRoom(self):
        ort.unregister_execution_provider_library("deputy")
        os.environ["DEPUTY_CONFIG"] = self.config("".join(f"  - {{name: npu{i}, delegate: sim_npu}}\n" for i in range(9)))
        ort.register_execution_provider_library("deputy", arguments.library)
        self.assertEqual([device.ep_metadata.get("delegate") for device in ort.get_ep_devices() if device.ep_name == NAME],
                         [None, *(f"npu{i}" for i in range(7))])

    def test_AnUnknownOptionIsRefusedWithTheNearest(self):
        with self.assertRaisesRegex(Exception, "no option 'reprt'; did you mean 'report'"):
            self.session(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])]),
                         options={"reprt": "x"})

    def test_TheOptionConfigReplacesTheConfiguration(self):
        other = self.config("  - {name: other, delegate: onednn}\n", name="other.yaml")
        relu = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])])
        session = self.session(relu, options={"config": other})
        del session
        self.assertEqual([entry["name"] for entry in self.report()["graphs"][0]["placement"]["delegates"]],
                         ["other", "cpu"])
        with self.assertRaisesRegex(Exception, "no delegate 'npu0'"):
            self.session(relu, "npu0", options={"config": other})
        with self.assertRaisesRegex(Exception, "absent.yaml"):
            self.session(relu, options={"config": str(self.scratch / "absent.yaml")})

    def test_DynamicOptionsAreThoseOfDelegates(self):
        session = self.session(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1, 4])],
                                     [tensor("y", [1, 4])]), "npu0")  # fmt: skip
        session.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient", "deputy.npu0.frequency": "300MHz"})
        with self.assertRaisesRegex(Exception, "frequncy.*did you mean 'frequency'"):
            session.set_ep_dynamic_options({"deputy.npu0.frequncy": "300MHz"})
        with self.assertRaisesRegex(Exception, "the form is deputy.NAME.OPTION"):
            session.set_ep_dynamic_options({"deputy.frequency": "300MHz"})
        session.run(None, {"x": np.ones((1, 4), "float32")})
        del session
        (npu,) = [entry for entry in self.report()["graphs"][0]["placement"]["delegates"] if entry["name"] == "npu0"]
        self.assertEqual(npu["device"]["frequency_granted_hz"], 300000000)

    def test_AModelWithCompiledPartsIsRefusedWithTheCache(self):
        source = self.scratch / "m.onnx"
        source.write_bytes(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])]))
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry("ep.context_enable", "1")
        options.add_provider_for_devices([self.device()], {})
        with self.assertRaisesRegex(Exception, "ep.context_enable.*its own cache"):
            ort.InferenceSession(str(source), options)

    def test_DevicesOfSeveralDelegatesAreOneProviderOfTheirNodes(self):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_provider_for_devices([self.device("onednn"), self.device("npu0")],
                                         {"report": str(self.report_path)})
        relu = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1, 4])], [tensor("y", [1, 4])])
        session = ort.InferenceSession(relu, options)
        del session
        placed = self.report()["graphs"][0]["placement"]["delegates"]
        self.assertEqual([entry["name"] for entry in placed], ["npu0", "onednn", "cpu"], "as the configuration orders them")

    def test_ADelegateThatCannotBeOpenedFailsTheSessionWithTheReason(self):
        config = self.config("  - {name: npu0, delegate: sim_nqu}\n", name="other.yaml")
        with self.assertRaisesRegex(Exception, "delegate 'npu0' cannot be used: .*sim_nqu"):
            self.session(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])]),
                         "npu0", options={"config": config})

    def test_AReportThatCannotBeWrittenIsRefusedBeforeAnyRun(self):
        relu = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])])
        for path in (self.scratch / "no" / "r.json", self.scratch):
            with self.assertRaisesRegex(Exception, str(path)):
                self.session(relu, options={"report": str(path)})


class Graphs(Host):
    """Small models with something that a graph may have."""

    delegates = EAGER

    def compare(self, source, inputs, delegate=None, taken=None, tolerance=EXACT):
        """The answers of ONNX Runtime's own CPU; `taken`: nodes that Deputy has."""
        plain = ort.SessionOptions()
        plain.log_severity_level = 3
        expected = ort.InferenceSession(source, plain, providers=["CPUExecutionProvider"])
        # Without its own rewriting, so that the graph has the nodes that the test has made.
        session = self.session(source, delegate, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
        for feed in inputs if isinstance(inputs, list) else [inputs]:
            for got, want in zip(session.run(None, feed), expected.run(None, feed)):
                self.assertEqual(got.dtype, want.dtype)
                self.assert_near(got, want, tolerance)
        del session
        if taken is not None:
            self.assertEqual(self.fused(), taken, self.report()["left_to_onnxruntime"])
        return self.report()

    def test_DynamicDimensionsTakeAnyShape(self):
        weights = numpy_helper.from_array(np.arange(12, dtype="float32").reshape(4, 3), "w")
        source = model([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])],
                       [tensor("x", ["n", 4])], [tensor("y", ["n", 3])], [weights])
        feeds = [{"x": np.random.default_rng(n).normal(size=(n, 4)).astype("float32")} for n in (3, 1, 7, 3, 0)]
        self.compare(source, feeds, taken=2, tolerance=HALF)
        self.compare(source, feeds[:4], "onednn", taken=2)

    def test_ExtentsThatFollowFromValuesAreThoseOfTheRun(self):
        source = model([helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Relu", ["x"], ["y"])],
                       [tensor("x", [2, 3])], [tensor("i", [2, "k"], TensorProto.INT64), tensor("y", [2, 3])])
        feeds = [{"x": np.array(x, "float32")} for x in ([[1, 0, 2], [0, 0, 3]], [[0] * 3] * 2, [[1] * 3] * 2)]
        self.compare(source, feeds, taken=2)

    def test_IntegersOfTwoBitsKeepTheirSigns(self):
        packed = helper.make_tensor("w", TensorProto.INT2, [4], bytes([0b11100100]), raw=True)
        scale = numpy_helper.from_array(np.array(0.5, "float32"), "s")
        source = model([helper.make_node("DequantizeLinear", ["w", "s"], ["d"]), helper.make_node("Add", ["x", "d"], ["y"])],
                       [tensor("x", [4])], [tensor("y", [4])], [packed, scale], version=25, ir=13)
        session = self.session(source, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
        np.testing.assert_array_equal(session.run(None, {"x": np.zeros(4, "float32")})[0], [0, 0.5, -1, -0.5])
        del session
        self.assertEqual(self.fused(), 2, self.report()["left_to_onnxruntime"])

    def test_TensorsMayHaveNoElements(self):
        source = model([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Transpose", ["r"], ["y"]),
                        helper.make_node("Shape", ["x"], ["s"], start=2, end=1)],
                       [tensor("x", [3, 0, 5])], [tensor("y", [5, 0, 3]), tensor("s", [0], TensorProto.INT64)])
        self.compare(source, {"x": np.zeros((3, 0, 5), "float32")}, taken=3)

    def test_BoundMemoryNeedNotBeAligned(self):
        source = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1, 4])], [tensor("y", [1, 4])])
        session = self.session(source)
        memory = [np.zeros(17, "uint8"), np.zeros(17, "uint8")]
        x = np.array([[1, -2, 3, -4]], "float32")
        memory[0][1:] = x.view("uint8").reshape(-1)
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, [1, 4], memory[0].ctypes.data + 1)
        binding.bind_output("y", "cpu", 0, np.float32, [1, 4], memory[1].ctypes.data + 1)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(np.frombuffer(memory[1][1:].tobytes(), "float32"), np.maximum(x[0], 0))

    def test_ConstantsAndAttributesOfAllTypesReachDeputy(self):
        rng = np.random.default_rng(1)
        weights = numpy_helper.from_array(rng.normal(size=(4, 3, 3, 3)).astype("float32"), "w")
        axes = numpy_helper.from_array(np.array([2, 3], "int64"), "axes")
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 2]),
                 helper.make_node("LeakyRelu", ["c"], ["l"], alpha=0.25),
                 helper.make_node("ReduceMean", ["l"], ["r"], axes=[2, 3], keepdims=1),
                 helper.make_node("Sub", ["l", "r"], ["d"]),
                 helper.make_node("ReduceSum", ["l", "axes"], ["s"], keepdims=0),
                 helper.make_node("ConstantOfShape", ["shape"], ["k"],
                                  value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])),
                 helper.make_node("Add", ["d", "k"], ["y"])]  # fmt: skip
        shape = numpy_helper.from_array(np.array([1, 4, 4, 4], "int64"), "shape")
        source = model(nodes, [tensor("x", [1, 3, 8, 8])], [tensor("y", [1, 4, 4, 4]), tensor("s", [1, 4])],
                       [weights, axes, shape])
        x = rng.normal(size=(1, 3, 8, 8)).astype("float32")
        self.compare(source, {"x": x}, "onednn")
        self.compare(source, {"x": x}, "npu0", tolerance=HALF)
        self.compare(source, {"x": x}, taken=7, tolerance=HALF)

    def test_StringsStayWithOnnxRuntimeAndDoNotSplitTheRestWrongly(self):
        # Relu -> Cast to string -> Cast back -> Add: no node on that way, and both sides, can be one.
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["t"], to=TensorProto.STRING),
                 helper.make_node("Cast", ["t"], ["b"], to=TensorProto.FLOAT), helper.make_node("Exp", ["a"], ["e"]),
                 helper.make_node("Add", ["b", "e"], ["y"])]  # fmt: skip
        source = model(nodes, [tensor("x", [4])], [tensor("y", [4])])
        report = self.compare(source, {"x": np.array([-1, 0.5, 2, 3], "float32")}, taken=3)
        self.assertEqual(len(report["graphs"]), 2)
        self.assertEqual([node["op_type"] for node in report["left_to_onnxruntime"]], ["Cast", "Cast"])
        self.assertIn("not a tensor of numbers", report["left_to_onnxruntime"][0]["reason"])

    def test_AnOperatorThatDeputyDoesNotHaveStaysWithOnnxRuntime(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"]),
                 helper.make_node("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                 helper.make_node("Sqrt", ["b"], ["y"])]  # fmt: skip
        source = model(nodes, [tensor("x", [3, 4])], [tensor("y", [3, 3])], domains=["com.microsoft"])
        report = self.compare(source, {"x": np.arange(12, dtype="float32").reshape(3, 4)}, taken=2)
        self.assertIn("CDist", report["left_to_onnxruntime"][0]["reason"])

    def branches(self):
        then = helper.make_graph([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["t"])],
                                 "then", [], [tensor("t", [2, 3])])
        other = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"]),
                                   helper.make_node("Sigmoid", ["m"], ["e"])], "else", [], [tensor("e", [2, 3])])
        weights = numpy_helper.from_array(np.eye(3, dtype="float32") * 2, "w")
        nodes = [helper.make_node("If", ["c"], ["i"], then_branch=then, else_branch=other),
                 helper.make_node("Relu", ["i"], ["y"])]
        return model(nodes, [tensor("c", [], TensorProto.BOOL), tensor("x", [2, 3])], [tensor("y", [2, 3])], [weights])

    def test_BranchesBelongToTheWholeConfiguration(self):
        x = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        feeds = [{"c": np.array(choice), "x": x} for choice in (True, False)]
        self.compare(self.branches(), feeds, taken=2)

    def test_NodesOfBranchesAreADelegatesOwn(self):
        x = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        feeds = [{"c": np.array(choice), "x": x} for choice in (True, False)]
        report = self.compare(self.branches(), feeds, "npu0", tolerance=HALF)
        self.assertGreaterEqual(len(report["graphs"]), 3)
        self.assertEqual([node["op_type"] for node in report["left_to_onnxruntime"] if node["op_type"] == "If"], ["If"])

    def test_SubgraphsOfFunctionsStayWithOnnxRuntime(self):
        body = helper.make_graph([helper.make_node("Relu", ["e"], ["r"])], "body", [tensor("e", [1, 4])],
                                 [tensor("r", [1, 4])])
        nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
                 helper.make_node("SequenceMap", ["s"], ["m"], body=body),
                 helper.make_node("SequenceAt", ["m", "at"], ["y"])]  # fmt: skip
        at = numpy_helper.from_array(np.array(1, "int64"), "at")
        source = model(nodes, [tensor("x", [1, 4])], [tensor("y", [1, 4])], [at])
        self.compare(source, {"x": np.array([[-1, 2, -3, 4]], "float32")}, "npu0", tolerance=HALF)

    def test_WithoutFallbackOnnxRuntimeHasWhatNoDelegateTakes(self):
        config = self.config(NPU, "fallback: none\n", name="none.yaml")
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Erf", ["a"], ["b"]),
                 helper.make_node("Relu", ["b"], ["y"])]
        source = model(nodes, [tensor("x", [1, 4])], [tensor("y", [1, 4])])
        session = self.session(source, options={"config": config})
        got = session.run(None, {"x": np.array([[-1, 0, 0.5, 2]], "float32")})[0]
        self.assert_near(got, np.array([[0, 0, 0.5204999, 0.9953223]]), HALF)
        del session
        report = self.report()
        self.assertEqual([node["op_type"] for node in report["left_to_onnxruntime"]], ["Erf"])
        self.assertEqual([entry["nodes"] for graph in report["graphs"] for entry in graph["placement"]["delegates"]
                          if entry["name"] == "cpu"], [0, 0])


class Faults(Host):
    """Plugins that fail inside cost neither the process nor the answer."""

    def run_with(self, fixture, keys="", runs=3):
        folder = self.scratch / fixture
        folder.mkdir()
        shutil.copy(Path(arguments.fixtures, f"{fixture}.so"), folder)
        config = self.config(f"  - {{name: {fixture}, isolation: process{keys}}}\n", plugins=folder,
                             name=f"{fixture}.yaml")
        source = model([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["y"])],
                       [tensor("x", [2, 3])], [tensor("y", [2, 3])])
        session = self.session(source, options={"config": config})
        x = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        for _ in range(runs):
            np.testing.assert_array_equal(session.run(None, {"x": x})[0], -np.maximum(x, 0))
        del session
        return self.report()

    def test_ACrashInARunIsAnIncident(self):
        for fixture in ("crashes_in_execute", "exits_in_execute"):
            with self.subTest(fixture=fixture):
                report = self.run_with(fixture)
                self.assertGreaterEqual(report["health"]["delegates"][0]["failures"], 1)
                incident = report["health"]["incidents"][0]
                self.assertEqual(incident["delegate"], fixture)
                self.assertEqual(incident["taken_over"], "cpu")

    def test_ACrashBeforeARunCostsTheDelegate(self):
        for fixture in ("crashes_in_compile", "crashes_in_open", "crash_in_constructor"):
            with self.subTest(fixture=fixture):
                report = self.run_with(fixture)
                self.assertEqual([graph["failed_runs"] for graph in report["graphs"]], [0])

    def run_with_device(self, fixture, cache, message):
        """A session with the device of this delegate alone, where it is absent because of faults."""
        folder = self.scratch / "absent"
        folder.mkdir(exist_ok=True)
        shutil.copy(Path(arguments.fixtures, f"{fixture}.so"), folder)
        config = self.scratch / "absent.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{folder}]}}\ncache: {{dir: '{cache}'}}\nlog: {{level: error}}\n"
                          f"delegates:\n  - {{name: npu0, delegate: {fixture}, isolation: process}}\n")
        relu = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [2, 3])], [tensor("y", [2, 3])])
        session = self.session(relu, "npu0", options={"config": str(config)})
        x = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))
        del session
        (absent,) = self.report()["absent"]
        self.assertEqual(absent["name"], "npu0")
        self.assertRegex(absent["reason"], message)
        self.assertEqual(self.report()["graphs"], [])

    def test_ADelegateThatCrashesBeforeASessionIsLeftOutOfItsDevice(self):
        for fixture in ("crashes_in_open", "crash_in_constructor"):
            with self.subTest(fixture=fixture):
                cache = self.scratch / f"{fixture}.cache"
                self.run_with_device(fixture, "off", "crashed with SIG")
                self.run_with_device(fixture, cache, "it is quarantined")
                self.run_with_device(fixture, cache, "it is quarantined")

    def test_ADelegateThatIsQuarantinedInUseIsLeftOutOfItsDevice(self):
        if arguments.deputy is None:
            self.skipTest("needs --deputy")
        folder, cache = self.scratch / "absent", self.scratch / "used.cache"
        folder.mkdir()
        shutil.copy(Path(arguments.fixtures, "misbehaves.so"), folder)
        config = self.config("  - {name: npu0, delegate: misbehaves, isolation: process, timeout: 20s}\n", plugins=folder,
                             name="used.yaml")
        for number in range(3):
            source = self.scratch / f"m{number}.onnx"
            nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(number + 1)]
            source.write_bytes(model(nodes, [tensor("v0", [2, 3])], [tensor(f"v{number + 1}", [2, 3])]))
            subprocess.run([arguments.deputy, "run", source, "--config", config, "--set", f"cache.dir={cache}", "--repeat",
                            "3"], env={**os.environ, "FIXTURE_FAULT": "execute:segv"}, capture_output=True, timeout=100)  # fmt: skip
        self.run_with_device("misbehaves", cache, "failed-in-use|it is quarantined")

    def test_AWrongResultIsFoundAndReplaced(self):
        report = self.run_with("drops_nan", ", verify: always")
        self.assertEqual([graph["failed_runs"] for graph in report["graphs"]], [0])

    def test_AnErrorOfARunNamesTheNodeAndTheRemedyAndIsRaised(self):
        config = self.config(NPU, "limits: {memory: 1kB}\n", name="limit.yaml")
        source = model([helper.make_node("Softmax", ["x"], ["y"])], [tensor("x", [64, "n"])],
                       [tensor("y", [64, "n"])])
        session = self.session(source, options={"config": config})
        with self.assertRaisesRegex(Exception, "node 'Softmax:y'.*memory limit.*raise 'limits: {memory: ...}'"):
            session.run(None, {"x": np.ones((64, 512), "float32")})
        del session
        self.assertEqual(self.report()["graphs"][0]["failed_runs"], 1)


class Threads(Host):
    delegates = EAGER

    def test_RunsOfOneSessionAtOnceAreRight(self):
        rng = np.random.default_rng(7)
        weights = rng.normal(size=(64, 64)).astype("float32")
        source = model([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])],
                       [tensor("x", ["n", 64])], [tensor("y", ["n", 64])], [numpy_helper.from_array(weights, "w")])
        for delegate in (None, "npu0", "onednn"):
            session = self.session(source, delegate)
            wrong = []

            def run(seed):
                own = np.random.default_rng(seed)
                for _ in range(50):
                    x = own.normal(size=(int(own.integers(1, 5)), 64)).astype("float32")
                    expected = np.maximum(x @ weights, 0)
                    got = session.run(None, {"x": x})[0]
                    if got.shape != expected.shape or np.abs(got - expected).max() > HALF * np.abs(expected).max():
                        wrong.append((seed, x.shape))

            threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            del session, run
            self.assertEqual(sum(graph["runs"] for graph in self.report()["graphs"]), 200)

    def test_SessionsOfSeveralThreadsAtOnceAreRight(self):
        source = model([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Exp", ["r"], ["y"])],
                       [tensor("x", [1, 16])], [tensor("y", [1, 16])])
        wrong = []

        def run(seed):
            for i in range(5):
                session = self.session(source, ("npu0", "onednn", None)[(seed + i) % 3],
                                       {"report": str(self.scratch / f"{seed}.json")})
                x = np.random.default_rng(seed * 10 + i).normal(size=(1, 16)).astype("float32")
                if np.abs(session.run(None, {"x": x})[0] - np.exp(np.maximum(x, 0))).max() > 0.1:
                    wrong.append(seed)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Library(unittest.TestCase):
    """What needs a process of its own, or none."""

    def test_OnlyTheTwoFunctionsAreExported(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", arguments.library], check=True, capture_output=True, text=True)
        self.assertEqual(sorted(line.split()[-1] for line in listing.stdout.splitlines()),
                         ["CreateEpFactories", "ReleaseEpFactory"])

    def test_AnOldHostGetsAStatusAndNoFactory(self):
        # An OrtApiBase of version 1.22.1: a table whose one function here is the first, CreateStatus.
        said = []
        create_status = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(
            lambda code, message: said.append((code, message.decode())) or 1)
        table = (ctypes.c_void_p * 512)(ctypes.cast(create_status, ctypes.c_void_p))
        get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
            lambda version: ctypes.addressof(table) if version <= 22 else None)
        get_version = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(text))
        text = ctypes.create_string_buffer(b"1.22.1")
        base = (ctypes.c_void_p * 2)(ctypes.cast(get_api, ctypes.c_void_p), ctypes.cast(get_version, ctypes.c_void_p))
        create = ctypes.CDLL(arguments.library).CreateEpFactories
        create.restype = ctypes.c_void_p
        factories, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t(9)
        status = create(b"deputy", base, None, factories, ctypes.c_size_t(4), ctypes.byref(count))
        self.assertEqual((status, count.value, factories[0]), (1, 0, None))
        self.assertIn("needs ONNX Runtime 1.23 or newer, and this one is 1.22.1", said[0][1])

    def run_python(self, code, **environment):
        done = subprocess.run([sys.executable, "-c", code, arguments.library], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "DEPUTY_SYSTEM_CONFIG": "", **environment})
        return done.returncode, done.stdout + done.stderr

    def test_ItIsUnregisteredAndRegisteredAgain(self):
        code = ("import sys, onnxruntime as ort\n"
                "for _ in range(3):\n"
                "    ort.register_execution_provider_library('deputy', sys.argv[1])\n"
                f"    assert any(device.ep_name == '{NAME}' for device in ort.get_ep_devices())\n"
                "    ort.unregister_execution_provider_library('deputy')\n"
                f"    assert not any(device.ep_name == '{NAME}' for device in ort.get_ep_devices())\n"
                "print('done')\n")
        with tempfile.TemporaryDirectory() as scratch:
            config = Path(scratch, "c.yaml")
            config.write_text(f"version: 1\nplugins: {{paths: [{arguments.plugins}]}}\ndelegates:\n{DELEGATES}")
            status, said = self.run_python(code, DEPUTY_CONFIG=str(config))
        self.assertEqual(status, 0, said)
        self.assertIn("done", said)

    def test_AWrongConfigurationIsRefusedWithItsPlace(self):
        with tempfile.TemporaryDirectory() as scratch:
            config = Path(scratch, "wrong.yaml")
            config.write_text("version: 1\ndelegate: []\n")
            status, said = self.run_python("import sys, onnxruntime as ort\n"
                                           "ort.register_execution_provider_library('deputy', sys.argv[1])\n",
                                           DEPUTY_CONFIG=str(config))
        self.assertEqual(status, 1, said)
        self.assertIn("wrong.yaml:2", said)
        self.assertIn("did you mean 'delegates'?", said)


class Documents(unittest.TestCase):
    def test_TheExampleForPythonRuns(self):
        page = Path(arguments.document).read_text().split("\n## ONNX Runtime\n")[1].split("\n## ")[0]
        blocks = dict(re.findall(r"```(yaml|python)\n(.*?)```", page, re.S))
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "provider.yaml").write_text(blocks["yaml"] + f"plugins: {{paths: [{arguments.plugins}]}}\n")
            Path(scratch, "session.py").write_text(blocks["python"])
            Path(scratch, "model.onnx").write_bytes(
                model([helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Relu", ["e"], ["y"])],
                      [tensor("x", [1, 2])], [tensor("y", [1, 2])]))
            done = subprocess.run([sys.executable, "session.py", arguments.library, "model.onnx"], cwd=scratch, text=True,
                                  capture_output=True, timeout=100,
                                  env={**os.environ, "DEPUTY_SYSTEM_CONFIG": "", "DEPUTY_CONFIG": f"{scratch}/provider.yaml"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("2.71", done.stdout)
            self.assertEqual([graph["nodes"] for graph in json.loads(Path(scratch, "provider.json").read_text())["graphs"]],
                             [2])


class Cpp(unittest.TestCase):
    def test_AProgramRunsAModelInFourThreads(self):
        library = glob.glob(str(Path(ort.__file__).parent / "capi" / "libonnxruntime.so*"))
        if not library:
            self.skipTest("this onnxruntime has no libonnxruntime.so")
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch, "model.onnx")
            source.write_bytes(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [1, 4])],
                                     [tensor("y", [1, 4])]))
            config, report = Path(scratch, "c.yaml"), Path(scratch, "report.json")
            config.write_text(f"version: 1\nplugins: {{paths: [{arguments.plugins}]}}\ndelegates:\n{NPU}")
            done = subprocess.run([arguments.host, library[0], arguments.library, str(source), "npu0", str(report)],
                                  capture_output=True, text=True, timeout=100,
                                  env={**os.environ, "DEPUTY_SYSTEM_CONFIG": "", "DEPUTY_CONFIG": str(config)})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            graphs = json.loads(report.read_text())["graphs"]
        self.assertEqual(done.stdout.splitlines(), ["y = 0 0.5 0 2"] * 4)
        self.assertEqual([(graph["nodes"], graph["runs"]) for graph in graphs], [(1, 80)])


if __name__ == "__main__":
    main()
