#!/usr/bin/env python3
"""Tables are never wider than the terminal: of models with long names, which are made here, and of the real models of
--data where they are present.

  tables_test.py --deputy build/release/bin/deputy [--data DIR] [unittest's arguments]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes
from pty_run import run_on_terminal, width

ARGS = None
WIDTHS = (60, 80, 200)
MODELS = ["aecmos_16k", "dnsmos_p808", "magika_fast_v2_1", "mnist_cntk", "ort_qdq_resblock", "policy_go1",
          "ppocr_det_v2_ch", "silero_vad_16k_op15", "squeezenet_fp16", "t5_random_encoder", "ultraface_rfb_320",
          "vittrack"]
STAGE = "/backbone/stage_number_3/residual_block_17/depthwise_separable_convolution"


def long_names():
    """A chain with long names and long lists of inputs, and a node that only the CPU has."""
    nodes, last = [], f"{STAGE}/input_of_the_whole_model"
    inputs = [onnx_bytes.value_info(last, (1, 4, 8, 8))]
    for i, op_type in enumerate(["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Relu", "Exp"]):
        name = f"{STAGE}/{op_type.lower()}_activation_{i}"
        nodes.append(onnx_bytes.node(op_type, [last], [f"{name}/output_0"], name))
        last = f"{name}/output_0"
    others = []
    for i in range(9):
        others.append(f"{STAGE}/side_input_number_{i}")
        inputs.append(onnx_bytes.value_info(others[-1], (1, 4, 8, 8)))
    nodes.append(onnx_bytes.node("Sum", [last, *others], ["畳み込み層の出力"], f"{STAGE}/畳み込み層の合計"))
    return onnx_bytes.model(nodes, inputs, [onnx_bytes.value_info("畳み込み層の出力", (1, 4, 8, 8))])


def dims_of(tensor):
    """The extents of a TensorProto, which precede everything else."""
    dims, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = tensor[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while tensor[at] in (8, 10):
        packed = tensor[at] == 10
        at += 1
        end = at + 1
        if packed:
            end = varint()
            end += at
        while at < end:
            dims.append(varint())
            if not packed:
                break
    return dims


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = Path(scratch.name)
        cls.model = cls.scratch / "long.onnx"
        cls.model.write_bytes(long_names())
        cls.config = cls.scratch / "npu-first.yaml"
        cls.config.write_text("version: 1\ncache: {dir: off}\nlog: {level: error}\ndelegates:\n"
                              "  - {name: npu0, delegate: sim_npu, min_nodes: 1}\n  - {name: onednn, min_nodes: 1}\n")

    def shown(self, columns, *command):
        status, text, errors = run_on_terminal([ARGS.deputy, *command], columns)
        self.assertEqual(status, 0, errors)
        return text

    def check_fits(self, text, columns):
        """Lines of tables are indented; others, such as the path of a file, are not shortened."""
        lines = [line for line in text.split("\n") if line.startswith("  ")]
        self.assertGreater(len(lines), 3, text)
        for line in lines:
            self.assertLessEqual(width(line), columns, line)

    def check_commands(self, model, *shape):
        config = ("--config", self.config)
        for command in (["partition", model, "--nodes", "--per-operator", *config, *shape],
                        ["run", model, "--profile", *config, *shape],
                        ["bench", model, "--runs", 1, "--warmup", 0, "--per-operator", *config, *shape],
                        ["inspect", model, "--nodes"]):  # fmt: skip
            for columns in WIDTHS:
                with self.subTest(command=command, columns=columns):
                    self.check_fits(self.shown(columns, *command), columns)

    def test_OfAModelWithLongNames(self):
        self.check_commands(self.model)

    def test_OfPlugins(self):
        for command in (["plugins", "--probe", "--why"], ["plugins", "--probe", "--operators"]):
            for columns in WIDTHS:
                with self.subTest(command=command, columns=columns):
                    self.check_fits(self.shown(columns, *command), columns)

    def test_DetailsAreWrapped(self):
        for command in (["plugins", "sim_npu", "--config", self.config], ["doctor", "--config", self.config],
                        ["config", "explain", "placement.policy"]):  # fmt: skip
            for columns in WIDTHS:
                with self.subTest(command=command, columns=columns):
                    lines = self.shown(columns, *command).split("\n")
                    words = [line for line in lines if " " in line.strip()]
                    self.assertGreater(len(words), 3)
                    for line in words:
                        # A path is not broken.
                        longest = max(map(len, line.split()))
                        self.assertLessEqual(width(line), max(columns, longest + 20), line)

    def test_OfTheRealModels(self):
        folder = Path(ARGS.data or "") / "models"
        if not ARGS.data or not folder.is_dir():
            self.skipTest(f"there are no models in {folder}")
        for name in MODELS:
            model = folder / name / "model.onnx"
            inputs = json.loads(self.piped("inspect", model, "--json"))["inputs"]
            shapes = []
            for i, described in enumerate(inputs):
                dims = dims_of((folder / name / "test_data_set_0" / f"input_{i}.pb").read_bytes())
                shapes += ["--shape", described["name"] + "=" + ("x".join(map(str, dims)) or "scalar")]
            self.check_commands(model, *shapes)

    def test_NamesAreShortenedInTheMiddle(self):
        text = self.shown(80, "inspect", self.model, "--nodes")
        self.assertRegex(text, r"(?m)^  /backbone/…/relu_activation_0 ")

    def test_WhereThereIsRoomNothingIsShortened(self):
        text = self.shown(400, "inspect", self.model, "--nodes")
        self.assertIn(f"{STAGE}/relu_activation_0 ", text)
        self.assertNotIn("…", text)

    def piped(self, *command, **environment):
        variables = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        done = subprocess.run([ARGS.deputy, *map(str, command)], capture_output=True, text=True, timeout=300,
                              env={**variables, "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_APipeGetsEverything(self):
        text = self.piped("inspect", self.model, "--nodes")
        self.assertIn(f"{STAGE}/relu_activation_0 ", text)
        self.assertNotIn("…", text)

    def test_ColumnsOfTheEnvironmentBoundAPipeToo(self):
        text = self.piped("inspect", self.model, "--nodes", COLUMNS="60")
        self.check_fits(text, 60)
        self.assertIn("…", text)
        self.assertIn(f"{STAGE}/relu_activation_0 ", self.piped("inspect", self.model, "--nodes", COLUMNS="no number"))

    def test_TopShowsTheMostExpensiveOnes(self):
        text = self.piped("profile", self.model, "--top", 2)
        self.assertIn("6 other steps", text)
        times = [line for line in self.piped("profile", self.model, "--top", 0).split("\n")
                 if line.startswith("  cpu ") and STAGE in line]  # fmt: skip
        self.assertEqual(len(times), 8)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--data")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
