#!/usr/bin/env python3
"""Real models with other vendors' execution providers first, unmodified, in this process and in a worker process: right
answers, and a sentence where a provider is wrong. Takes about twenty minutes. Exits 77, with the reason, without
packaging/guests.sh or the data."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import real_models_test
from scratch import ScratchCase, variables_of

ARGS = None
# Nodes of ggml that run right, at least; of ONNX Runtime's it takes all of a model or none: of these models 14 nodes of
# policy_go1, silero_vad_16k_op15 and t5_random_encoder.
GGML_NODES = {"aecmos_16k": 27, "dnsmos_p808": 17, "magika_fast_v2_1": 44, "mnist_cntk": 5, "ort_qdq_resblock": 3,
              "policy_go1": 14, "ppocr_det_v2_ch": 109, "silero_vad_16k_op15": 34, "squeezenet_fp16": 35,
              "t5_random_encoder": 43, "ultraface_rfb_320": 73, "vittrack": 171}  # fmt: skip


class Guests(ScratchCase):
    def setUp(self):
        super().setUp()
        self.environment = variables_of(Path(ARGS.guests) / "env.sh")
        self.environment.update(XDG_CACHE_HOME=str(self.scratch), ORT_GGML_LOG="error")

    def deputy(self, *arguments):
        return subprocess.run([ARGS.deputy, *arguments], capture_output=True, text=True, timeout=1800,
                              env=self.environment)  # fmt: skip

    def passes(self, config, *arguments, models=real_models_test.MODELS):
        """Nodes of the configuration's first delegate, by model, and what was said of it."""
        nodes, said = {}, {}
        name = Path(config).stem
        for model in models:
            # In halves 36 of its 100,352 quantized elements are a step of 1.72 away.
            tolerance = ["--atol-scale", "0.1"] if (name, model) == ("qnn", "ort_qdq_resblock") else []
            with self.subTest(model):
                done = self.deputy("test-case", str(Path(ARGS.data) / "models" / model), "--config", config, *tolerance,
                                   *arguments)  # fmt: skip
                line = re.search(rf"(?m)^pass  {model}  .*", done.stdout)
                self.assertIsNotNone(line, done.stdout + done.stderr)
                count = re.search(rf"\b{name} (\d+)/\d+ nodes", line[0])
                nodes[model], said[model] = int(count[1]) if count else 0, done.stderr
        return nodes, said

    def in_both(self, config, *arguments, **how):
        results = [self.passes(config, *arguments, "--set", f"delegates.{config}.isolation={isolation}", **how)
                   for isolation in ("none", "process")]  # fmt: skip
        self.assertEqual(results[0][0], results[1][0])
        return results[0]

    def test_OwnProviderOfOnnxRuntime(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "ort.yaml")
            Path(config).write_text("version: 1\ndelegates:\n  - name: ort\n    delegate: onnxruntime\n    min_nodes: 1\n")
            for isolation in ("none", "process"):
                nodes, _ = self.passes(config, "--set", f"delegates.ort.isolation={isolation}")
                self.assertGreater(min(nodes.values()), 8)

    def test_Ggml(self):
        nodes, _ = self.in_both("ggml", "--set", "delegates.ggml.min_nodes=1")
        for model, least in GGML_NODES.items():
            self.assertGreaterEqual(nodes[model], least, model)

    def test_GgmlInHalfPrecisionCrashesAndIsAnswered(self):
        # It ends its process in a later run of a session.
        _, said = self.passes("ggml", "--set", "delegates.ggml.options.ggml.weights=f16", models=["magika_fast_v2_1"])
        self.assertRegex(said["magika_fast_v2_1"], "received SIGSEGV|wrong result of ggml")

    def test_Qnn(self):
        nodes, _ = self.in_both("qnn")
        self.assertGreater(min(nodes.values()), 8)

    def test_WebGpu(self):
        nodes, said = self.in_both("webgpu")
        self.assertGreater(nodes["vittrack"], 190)
        # Convolutions of stride 2 with small groups of channels, on the Vulkan driver for the CPU.
        self.assertRegex(said["vittrack"], r"wrong result of webgpu .* partition webgpu/0 .*'Conv_2' \(Conv\)")

    def test_OwnTables(self):
        for config in ("ggml", "qnn"):
            own = ["--set", f"delegates.{config}.options.runtime=own"]
            nodes, _ = self.passes(config, *own)
            self.assertGreater(sum(nodes.values()), 400, config)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--guests", required=True, help="the folder that packaging/guests.sh makes")
    parser.add_argument("--data", required=True)
    ARGS, rest = parser.parse_known_args()
    for path in (Path(ARGS.guests) / "env.sh", Path(ARGS.data) / "models"):
        if not path.exists():
            print(f"no {path}")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
