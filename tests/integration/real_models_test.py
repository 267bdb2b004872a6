#!/usr/bin/env python3
"""Real models with reference outputs, and the ONNX conformance cases, through the program. Exits 77, with the reason,
where the data is not there."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ARGS = None
MODELS = ["aecmos_16k", "dnsmos_p808", "magika_fast_v2_1", "mnist_cntk", "ort_qdq_resblock", "policy_go1",
          "ppocr_det_v2_ch", "silero_vad_16k_op15", "squeezenet_fp16", "t5_random_encoder", "ultraface_rfb_320",
          "vittrack"]
FOREIGN = ["tflm_hello_world_float", "tiny_kws_fp32", "tiny_resnet8_int8"]  # other formats
SHAPES = ["ppocr_det_v2_ch", "silero_vad_16k_op15", "t5_random_encoder"]  # data sets of several shapes
ONEDNN = ["{name: onednn, min_nodes: 1}"]
NPU = ["{name: npu0, delegate: sim_npu, options: {frequency: high}}", "{name: onednn}"]
# fp16 arithmetic; both outputs of the quantized model are sums of quantized values.
HALF = ["--atol-scale", "1e-2", "--except", "MobilenetEdgeTPU/expanded_conv_4/add", "--except",
        "MobilenetEdgeTPU/expanded_conv_3/add_DequantizeLinear"]
CASES = 900  # of the conformance cases at least


def deputy(*arguments):
    environment = dict(os.environ)
    if "address" in ARGS.sanitize and "--config" in arguments:
        # At the end of a process with OpenMP's threads the leak checker itself crashes.
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return subprocess.run([ARGS.deputy, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=500, env=environment)


class WithDeputy(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def config(self, delegates):
        path = os.path.join(self.scratch.name, "test.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("version: 1\ndelegates: [" + ", ".join(delegates) + "]\n")
        # OpenMP's own synchronisation is invisible to ThreadSanitizer.
        one_thread = ["--set", "delegates.onednn.options.threads=1"] if "thread" in ARGS.sanitize else []
        return ["--config", path, *one_thread]


class RealModels(WithDeputy):
    def passes(self, *arguments):
        folders = [os.path.join(ARGS.data, "models", name) for name in MODELS + FOREIGN]
        done = deputy("test-case", *folders, *arguments)
        self.assertEqual(done.stdout.splitlines()[-1], f"12 passed, 0 failed, {len(FOREIGN)} skipped",
                         done.stdout + done.stderr)
        self.assertNotIn("refused", done.stderr)

    def test_on_the_cpu_alone(self):
        self.passes()

    def test_on_the_cpu_alone_via_dpm(self):
        self.passes("--via-dpm")

    def test_with_onednn_first(self):
        self.passes(*self.config(ONEDNN))

    def test_with_onednn_first_via_dpm(self):
        self.passes("--via-dpm", *self.config(ONEDNN))

    def test_with_the_npu_first(self):
        self.passes(*HALF, *self.config(NPU))

    def test_with_the_npu_first_via_dpm(self):
        self.passes("--via-dpm", *HALF, *self.config(NPU))

    def test_several_shapes_in_several_sessions_at_once(self):
        folders = [os.path.join(ARGS.data, "models", name) for name in SHAPES]
        for folder in folders:
            self.assertGreater(len(glob.glob(os.path.join(folder, "test_data_set_*"))), 1)
        for config in ([], self.config(ONEDNN)):
            done = deputy("test-case", *folders, "--sessions", "3", *config)
            self.assertEqual(done.stdout.splitlines()[-1], f"{len(SHAPES)} passed, 0 failed, 0 skipped",
                             done.stdout + done.stderr)
            self.assertEqual(done.stdout.count("3 sessions at once"), len(SHAPES))

    def test_what_was_converted_is_said(self):
        done = deputy("test-case", os.path.join(ARGS.data, "models", "squeezenet_fp16"))
        self.assertIn("'data_0' converted from float32 to float16", done.stdout)
        self.assertIn("'softmaxout_1' compared as float32", done.stdout)

    def test_most_of_the_arithmetic_is_on_the_first_delegate(self):
        model = os.path.join(ARGS.data, "models", "ultraface_rfb_320", "model.onnx")
        for config, first in ((ONEDNN, "onednn"), (NPU, "npu0")):
            done = deputy("partition", model, "--json", *self.config(config))
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["delegates"][0]["name"], first)
            self.assertGreaterEqual(report["delegates"][0]["multiply_adds"], 0.9 * report["multiply_adds"])
            self.assertGreater(report["multiply_adds"], 50_000_000)


class ConformanceCases(WithDeputy):
    def test_conformance_cases(self):
        cases = []
        for group in ("node", "simple", "pytorch-operator", "pytorch-converted"):
            cases += sorted(glob.glob(os.path.join(ARGS.data, "onnx-cases", group, "*")))
        for arguments in ([], ["--via-dpm"], self.config(ONEDNN)):
            done = deputy("test-case", *cases, *arguments)
            counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", done.stdout.splitlines()[-1])
            self.assertIsNotNone(counts, done.stdout[-500:] + done.stderr[-500:])
            passed, failed, skipped = map(int, counts.groups())
            failures = [line for line in done.stdout.splitlines() if line.startswith("fail")]
            self.assertEqual(failed, 0, "\n".join(failures[:20]))
            self.assertEqual(passed + skipped, len(cases))
            self.assertGreaterEqual(passed, CASES)
            for line in done.stdout.splitlines():
                if line.startswith("skip"):
                    self.assertGreaterEqual(len(line.split(None, 2)), 3, "a skip without a reason: " + line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sanitize", default="", help="what the program is built with")
    ARGS, rest = parser.parse_known_args()
    if not os.path.isdir(os.path.join(ARGS.data, "models")):
        print(f"skipped: no models at {ARGS.data}; set DEPUTY_TEST_DATA to a folder with models/ and onnx-cases/")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + rest)
