#!/usr/bin/env python3
"""Real models and ONNX's own cases in ONNX Runtime with Deputy as its execution provider. Exits 77, with the reason, where
onnxruntime or the data is missing.

  onnxruntime_ep_models_test.py --library SO --plugins DIR --fixtures DIR --data DIR --document PAGE --host PROGRAM
                                [unittest's arguments]
"""

import glob
import unittest
from pathlib import Path

from onnxruntime_ep import EXACT, HALF, Host, arguments, main, np, ort, read_tensor

MODELS = {"aecmos_16k": EXACT, "dnsmos_p808": EXACT, "magika_fast_v2_1": EXACT, "mnist_cntk": EXACT,
          "policy_go1": EXACT, "ppocr_det_v2_ch": EXACT, "silero_vad_16k_op15": EXACT, "squeezenet_fp16": HALF,
          "t5_random_encoder": EXACT, "ultraface_rfb_320": EXACT, "vittrack": EXACT}
ON_NPU = ["aecmos_16k", "dnsmos_p808", "mnist_cntk", "policy_go1", "squeezenet_fp16", "ultraface_rfb_320", "vittrack"]
ON_ONEDNN = ["aecmos_16k", "dnsmos_p808", "mnist_cntk", "policy_go1", "ppocr_det_v2_ch", "silero_vad_16k_op15",
             "squeezenet_fp16", "ultraface_rfb_320", "vittrack"]


class RealModels(Host):
    def setUp(self):
        if not Path(arguments.data, "models").is_dir():
            self.skipTest(f"no models in {arguments.data}")
        super().setUp()

    def check(self, name, delegate, tolerance):
        folder = Path(arguments.data, "models", name)
        session = self.session(str(folder / "model.onnx"), delegate)
        sets = sorted(glob.glob(f"{folder}/test_data_set_*"))
        self.assertTrue(sets)
        for data in sets:
            inputs = {}
            for i, info in enumerate(session.get_inputs()):
                value = read_tensor(f"{data}/input_{i}.pb")
                inputs[info.name] = value.astype("float16") if info.type == "tensor(float16)" else value
            for i, output in enumerate(session.run(None, inputs)):
                self.assert_near(output, read_tensor(f"{data}/output_{i}.pb"), tolerance)
        del session, info
        report = self.report()
        self.assertFalse(report["health"]["degraded"])
        return report

    def nodes_of(self, report, delegate):
        return sum(entry["nodes"] for graph in report["graphs"] for entry in graph["placement"]["delegates"]
                   if entry["name"] == delegate)

    def test_SimNpuRunsItsNodesAndOnnxRuntimeTheRest(self):
        for name in ON_NPU:
            with self.subTest(model=name):
                report = self.check(name, "npu0", HALF)
                self.assertGreater(self.nodes_of(report, "npu0"), 0)
                self.assertEqual(self.nodes_of(report, "cpu"), 0)
                self.assertTrue(all(graph["runs"] > 0 for graph in report["graphs"]))
                for node in report["left_to_onnxruntime"]:
                    self.assertTrue(node["reason"], node)

    def test_OneDnnRunsItsNodesAndOnnxRuntimeTheRest(self):
        for name in ON_ONEDNN:
            with self.subTest(model=name):
                report = self.check(name, "onednn", MODELS[name])
                self.assertGreater(self.nodes_of(report, "onednn"), 0)

    def test_TheWholeConfigurationRunsAllNodes(self):
        for name in MODELS:
            with self.subTest(model=name):
                report = self.check(name, None, HALF)
                self.assertEqual(report["left_to_onnxruntime"], [])
                self.assertEqual(len(report["graphs"]), 1)


class Conformance(Host):
    """ONNX's own cases through ONNX Runtime's graphs: what ONNX Runtime runs right by itself is right with Deputy."""

    CLASSES = ("core", "core_int", "core_fp16_fp64", "control_flow", "simple", "pytorch-operator", "lowbit", "bf16")

    def setUp(self):
        self.index = Path(arguments.data, "onnx-cases", "index.tsv")
        if not self.index.is_file():
            self.skipTest(f"no cases in {arguments.data}")
        super().setUp()
        self.cpu = self.config("  []\n", name="cpu.yaml")

    def answers(self, session, folder):
        inputs = {info.name: read_tensor(folder / "test_data_set_0" / f"input_{i}.pb")
                  for i, info in enumerate(session.get_inputs())}
        return session.run(None, inputs)

    def is_right(self, outputs, folder):
        for i, output in enumerate(outputs):
            expected = read_tensor(folder / "test_data_set_0" / f"output_{i}.pb")
            if output.shape != expected.shape or output.dtype != expected.dtype:
                return False
            if expected.dtype.kind not in "fiub":
                if not np.array_equal(output, expected):
                    return False
            elif not np.allclose(output.astype("float64"), expected.astype("float64"), rtol=1e-3, atol=1e-4,
                                 equal_nan=True):
                return False
        return True

    def test_WhatOnnxRuntimeRunsRightIsRightWithDeputy(self):
        rows = [line.split("\t") for line in self.index.read_text().splitlines()[1:]]
        plain = ort.SessionOptions()
        plain.log_severity_level = 4
        right = fused = 0
        for case, group, kind, *_ in rows:
            if kind not in self.CLASSES:
                continue
            folder = self.index.parent / group / case
            try:
                expected = self.answers(ort.InferenceSession(str(folder / "model.onnx"), plain), folder)
                if not all(isinstance(one, np.ndarray) for one in expected) or not self.is_right(expected, folder):
                    continue
            except Exception:  # of many kinds: not one that ONNX Runtime runs
                continue
            with self.subTest(case=case):
                session = self.session(str(folder / "model.onnx"), options={"config": self.cpu},
                                       level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
                outputs = self.answers(session, folder)
                self.assertTrue(self.is_right(outputs, folder))
                del session
                right += 1
                fused += 1 if self.report()["graphs"] else 0
        self.assertGreater(right, 400)
        self.assertGreater(fused, 0.95 * right)


if __name__ == "__main__":
    main()
