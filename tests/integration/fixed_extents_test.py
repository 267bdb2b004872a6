#!/usr/bin/env python3
"""Models whose files fix the extents of their inputs, run with other ones: the outputs must be those of ONNX Runtime, or
LiteRT, for a model that was exported with these extents. Exits 77, with the reason, where these are not installed
(packaging/peers.sh makes a Python that has them).

  fixed_extents_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import sys
import unittest

try:
    import numpy as np
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import cli_test
import tflite_models

RNG = np.random.default_rng(14)
WEIGHTS = {name: RNG.normal(0, 0.3, shape).astype(np.float32) for name, shape in
           {"w1": (8, 3, 3, 3), "w2": (8, 8, 3, 3), "fc": (8, 5), "b": (5,), "square": (6, 6)}.items()}  # fmt: skip


def info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes, inputs, outputs, constants=(), known=()):
    """`known`: shapes of values between nodes, as exporters store them."""
    used = {name for node in nodes for name in node.input}
    weights = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items() if name in used]
    graph = helper.make_graph(nodes, "fixed", inputs, outputs, weights + list(constants), value_info=list(known))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(made, full_check=True)
    return made


def convolutions(n, h, w):
    """Strides, SAME pads, an upsampling to the size of a value computed before, and a classifier."""
    half = (h + 1) // 2, (w + 1) // 2
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], "c1", strides=[2, 2], auto_pad="SAME_UPPER"),
        node("Conv", ["c1", "w2"], ["c2"], "c2", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Shape", ["c1"], ["size"], "size"),
        node("Resize", ["c2", "", "", "size"], ["up"], "up", mode="nearest"),
        node("Add", ["c1", "up"], ["sum"], "sum"),
        node("GlobalAveragePool", ["sum"], ["pool"], "pool"),
        node("Flatten", ["pool"], ["flat"], "flat"),
        node("Gemm", ["flat", "fc", "b"], ["y"], "gemm"),
    ]
    known = [info("c1", (n, 8, *half)), info("up", (n, 8, *half)), info("flat", (n, 8))]
    return model(nodes, [info("x", (n, 3, h, w))], [info("y", (n, 5))], known=known)


def relative_reshape(n, t):
    """Reshapes that hold for every batch: 0 and -1."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "square"], ["p"], "p"),
        node("Reshape", ["p", "heads"], ["r"], "r"),
        node("Transpose", ["r"], ["tr"], "tr", perm=[0, 2, 1, 3]),
        node("Softmax", ["tr"], ["y"], "soft", axis=-1),
    ]
    return model(nodes, [info("x", (n, t, 6))], [info("y", (n, 2, t, 3))], [ints("heads", 0, -1, 2, 3)],
                 [info("p", (n, t, 6)), info("r", (n, t, 2, 3))])  # fmt: skip


def regions(n):
    """A loop and a branch whose bodies declare the shapes of their values."""
    node = helper.make_node
    body = helper.make_graph(
        [node("Add", ["state", "x"], ["next"]), node("Identity", ["go"], ["on"])], "body",
        [info("i", (), TensorProto.INT64), info("go", (), TensorProto.BOOL), info("state", (n, 4))],
        [info("on", (), TensorProto.BOOL), info("next", (n, 4))])  # fmt: skip
    branches = [helper.make_graph([node(op, ["sum"], [op])], op, [], [info(op, (n, 4))]) for op in ("Neg", "Abs")]
    nodes = [
        node("Loop", ["three", "", "x"], ["sum"], "loop", body=body),
        node("ReduceSum", ["x"], ["total"], "total", keepdims=0),
        node("Greater", ["total", "zero"], ["positive"], "positive"),
        node("If", ["positive"], ["y"], "choose", then_branch=branches[0], else_branch=branches[1]),
    ]
    constants = [numpy_helper.from_array(np.array(3, np.int64), "three"),
                 numpy_helper.from_array(np.array(0, np.float32), "zero")]  # fmt: skip
    return model(nodes, [info("x", (n, 4))], [info("y", (n, 4))], constants, [info("sum", (n, 4))])


def constant_reshape(n):
    """A Reshape to the shape at export, which holds for one batch only."""
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Reshape", ["r", "to"], ["y"], "flatten")]
    return model(nodes, [info("x", (n, 2, 3))], [info("y", (n, 6))], [ints("to", n, 6)], [info("r", (n, 2, 3))])


class FixedExtents(cli_test.Cli):
    def save(self, name, content):
        return self.file(name, content if isinstance(content, bytes) else content.SerializeToString())

    def agrees(self, path, shape, want, name="x", output="y", x=None):
        np.save(self.scratch / "x.npy", x)
        np.save(self.scratch / "want.npy", want)
        run = cli_test.deputy("run", path, "--shape", f"{name}={'x'.join(map(str, shape))}", "--input",
                              f"{name}={self.scratch / 'x.npy'}", "--expect", f"{output}={self.scratch / 'want.npy'}")
        self.check(run, 0, f"match {output}")

    def compare(self, make, fixed, *others):
        path = self.save("model.onnx", make(*fixed))
        for other in others:
            with self.subTest(make=make.__name__, other=other):
                session = onnxruntime.InferenceSession(make(*other).SerializeToString(), providers=["CPUExecutionProvider"])
                shape = session.get_inputs()[0].shape
                x = RNG.normal(0, 1, shape).astype(np.float32)
                self.agrees(path, shape, session.run(None, {"x": x})[0], x=x)

    def test_OutputsAreThoseOfAModelWithTheOtherExtents(self):
        self.compare(convolutions, (1, 32, 32), (1, 48, 40), (3, 32, 32), (2, 21, 35), (1, 32, 32))
        self.compare(relative_reshape, (1, 5), (4, 5), (2, 9))
        self.compare(regions, (2,), (5,), (1,))

    def test_ADpmFileIsChangedAsWell(self):
        path, dpm = self.save("model.onnx", convolutions(1, 32, 32)), self.scratch / "model.dpm"
        self.check(cli_test.deputy("convert", path, "-o", dpm), 0)
        session = onnxruntime.InferenceSession(convolutions(2, 24, 32).SerializeToString())
        x = RNG.normal(0, 1, (2, 3, 24, 32)).astype(np.float32)
        self.agrees(dpm, x.shape, session.run(None, {"x": x})[0], x=x)

    def test_ANodeThatDoesNotFitIsTwoAndNamedWithTheReason(self):
        path = self.save("model.onnx", constant_reshape(2))
        self.check(cli_test.deputy("run", path), 0)
        for command in ("run", "partition", "bench"):
            self.check(cli_test.deputy(command, path, "--shape", "x=3x2x3"), 2, r"node 'flatten' \(Reshape\)",
                       r"'x' is float32 \[2,2,3\] in the file")  # fmt: skip

    def test_PartitionAndBenchTakeOtherExtents(self):
        path = self.save("model.onnx", convolutions(1, 32, 32))
        self.check(cli_test.deputy("partition", path, "--shape", "x=2x3x16x16"), 0, r"x float32 \[2,3,16,16\]")
        self.check(cli_test.deputy("bench", path, "--shape", "x=2x3x16x16", "--runs", "1"), 0, r"x float32 \[2,3,16,16\]")

    def test_OtherRanksAndNamesAreTwo(self):
        path = self.save("model.onnx", convolutions(1, 32, 32))
        self.check(cli_test.deputy("run", path, "--shape", "x=1x3x32"), 2, r"\[1,3,32\].*\[1,3,32,32\]")
        self.check(cli_test.deputy("run", path, "--shape", "y=1x3x32x32"), 2, "no input 'y'", "'x'")

    def test_AFileOfAnotherShapeNamesTheFlag(self):
        np.save(self.scratch / "x.npy", np.zeros((2, 3, 32, 32), np.float32))
        path = self.save("model.onnx", convolutions(1, 32, 32))
        self.check(cli_test.deputy("run", path, "--input", f"x={self.scratch / 'x.npy'}"), 2, "--shape x=2x3x32x32")

    def test_PadsOfTensorFlowLiteAreComputedAgain(self):
        def tflite(n, h, w):
            writer = tflite_models.Writer()
            x = writer.input("float32", (n, h, w, 3))
            weights = writer.constant(np.ascontiguousarray(WEIGHTS["w1"].transpose(0, 2, 3, 1)))
            made = writer.tensor("float32", (n, -(-h // 2), -(-w // 2), 8), name="y")
            writer.add("CONV_2D", [x, weights, writer.constant(np.zeros(8, np.float32))], [made], padding=0, strideW=2,
                       strideH=2, fusedActivationFunction=1)  # fmt: skip
            return writer.finish([made])

        path = self.save("model.tflite", tflite(1, 32, 32))
        for shape in ((1, 33, 32, 3), (2, 31, 45, 3)):
            interpreter = Interpreter(model_content=tflite(*shape[:3]), num_threads=1)
            interpreter.allocate_tensors()
            x = RNG.normal(0, 1, shape).astype(np.float32)
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
            interpreter.invoke()
            want = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
            self.agrees(path, shape, want, name=interpreter.get_input_details()[0]["name"], x=x)
        dpm = self.scratch / "model.dpm"
        self.check(cli_test.deputy("convert", path, "-o", dpm), 0)
        self.check(cli_test.deputy("run", dpm, "--shape", "t0=1x33x32x3"), 3, "model from which it was converted")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    arguments, rest = parser.parse_known_args()
    cli_test.DEPUTY = arguments.deputy
    unittest.main(argv=sys.argv[:1] + rest)
