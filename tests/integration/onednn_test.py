#!/usr/bin/env python3
"""Small models with the oneDNN plugin first against the same on the CPU alone: integers, what the conformance cases do
not show with constant weights, and what moves elements. Fails where the plugin was not built (packaging/install-deps.sh)."""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import onnx_bytes as onnx

ARGS = None
CONFIG = """version: 1
plugins: {{paths: ["{plugins}"]}}
delegates:
  - name: onednn
    options: {{accept: {accept}}}
passes: {{fold_constants: {fold}}}
cpu: {{threads: 2}}
"""
UINT8, INT8, INT32, INT64 = 2, 3, 6, 7
CODES = {UINT8: "B", INT8: "b", INT32: "i", INT64: "q"}


class Model:
    """Nodes one after the other, each with one output."""

    def __init__(self):
        self.random = random.Random(5)
        self.nodes, self.constants, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def floats(self, *shape, values=None, low=-1.0, high=1.0):
        count = 1
        for extent in shape:
            count *= extent
        name = self.name()
        values = values or [self.random.uniform(low, high) for _ in range(count)]
        self.constants.append(onnx.tensor(values, shape, name))
        return name

    def integers(self, dtype, values, *shape):
        name = self.name()
        self.constants.append(onnx.integer_tensor(dtype, struct.pack(f"<{len(values)}{CODES[dtype]}", *values), shape, name))
        return name

    def add(self, op_type, *inputs, **attributes):
        output = self.name()
        self.nodes.append(onnx.node(op_type, inputs, [output], f"{op_type}_{output}", **attributes))
        return output

    def quantized(self, value, scale, zero, dtype=UINT8):
        scale, zero = self.floats(values=[scale]), self.integers(dtype, [zero])
        integers = self.add("QuantizeLinear", value, scale, zero)
        return self.add("DequantizeLinear", integers, scale, zero)

    def weights(self, dtype, zero, *shape, axis=None):
        count = 1
        for extent in shape:
            count *= extent
        span = 100
        values = [self.random.randint(-span, span) + zero for _ in range(count)]
        if axis is None:
            return self.add("DequantizeLinear", self.integers(dtype, values, *shape), self.floats(values=[0.01]),
                            self.integers(dtype, [zero]))
        scales = self.floats(shape[axis], low=0.005, high=0.02)
        return self.add("DequantizeLinear", self.integers(dtype, values, *shape), scales,
                        self.integers(dtype, [zero] * shape[axis], shape[axis]), axis=axis)

    def bytes(self, x, y, output):
        self.nodes.append(onnx.node("Identity", [output], ["y"], "last"))
        return onnx.model(self.nodes, [onnx.value_info("x", x)], [onnx.value_info("y", y)], (), self.constants)


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    header = struct.unpack("<H", data[8:10])[0]
    assert b"'<f4'" in data[: 10 + header], data[:80]
    return struct.unpack(f"<{(len(data) - 10 - header) // 4}f", data[10 + header :])


class Runs(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def run_model(self, model, folder, *arguments):
        out = os.path.join(self.scratch.name, folder)
        done = subprocess.run([ARGS.deputy, "run", model, "--output-dir", out, "--seed", "3", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("refused", done.stderr)
        return read_npy(os.path.join(out, "y.npy")), done.stdout


class Answers(Runs):
    def check(self, data, tolerance=1e-5, fold=True, share=None):
        """Runs both; `share` is what the summary must say of onednn."""
        model, config = (os.path.join(self.scratch.name, name) for name in ("m.onnx", "c.yaml"))
        with open(model, "wb") as file:
            file.write(data)
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(plugins=ARGS.plugins, fold=str(fold).lower(), accept="everything"))
        want, _ = self.run_model(model, "cpu")
        got, text = self.run_model(model, "onednn", "--config", config)
        self.assertEqual(len(got), len(want))
        largest = max(1.0, max(abs(value) for value in want))
        worst = max(abs(a - b) for a, b in zip(got, want))
        self.assertLessEqual(worst, tolerance * largest)
        if share:
            self.assertIn(share, text)

    # Within one step of what comes last.
    # Seed row 60.
    def test_convolution_of_bytes(self):
        for dtype, zero, axis in ((INT8, 0, 0), (INT8, 0, None), (UINT8, 128, None)):
            with self.subTest(dtype=dtype, axis=axis):
                m = Model()
                x = m.quantized("x", 0.02, 120)
                w = m.weights(dtype, zero, 8, 5, 3, 3, axis=axis)
                y = m.add("Conv", x, w, m.floats(8), pads=[1, 1, 1, 1])
                data = m.bytes([1, 5, 9, 10], [1, 8, 9, 10], m.quantized(m.add("Relu", y), 0.05, 3))
                self.check(data, tolerance=0.051, fold=False, share="cpu           0")

    def test_residual_block_of_bytes(self):
        m = Model()
        x = m.quantized("x", 0.02, 120)
        y = m.add("Conv", x, m.weights(INT8, 0, 6, 6, 1, 1, axis=0), m.floats(6))
        y = m.quantized(y, 0.03, 128)
        data = m.bytes([1, 6, 7, 7], [1, 6, 7, 7], m.quantized(m.add("Add", y, x), 0.04, 100))
        self.check(data, tolerance=0.041, fold=False)

    def test_matrix_product_of_bytes(self):
        m = Model()
        y = m.add("MatMul", m.quantized("x", 0.02, 110), m.weights(INT8, 0, 16, 12, axis=1))
        data = m.bytes([3, 16], [3, 12], m.quantized(m.add("Add", y, m.floats(12)), 0.03, 128))
        self.check(data, tolerance=0.031, fold=False)

    # Before the scale of the result is applied; two linear functions do not fit into one primitive.
    def test_functions_between_a_convolution_and_its_bytes(self):
        for function in ("HardSigmoid", "Sigmoid", "Elu", "LeakyRelu", "Relu", "Mul"):
            with self.subTest(function=function):
                m = Model()
                y = m.add("Conv", m.quantized("x", 0.02, 120), m.weights(INT8, 0, 8, 5, 3, 3, axis=0), m.floats(8))
                y = m.add(function, y, *([m.floats(values=[0.25])] if function == "Mul" else []))
                scale = 1 / 200
                data = m.bytes([1, 5, 9, 10], [1, 8, 7, 8], m.quantized(y, scale, 20))
                self.check(data, tolerance=scale * 1.01, fold=False)

    def test_result_of_bytes_that_stays_float(self):
        m = Model()
        y = m.add("Conv", m.quantized("x", 0.02, 120), m.weights(INT8, 0, 4, 3, 3, 3, axis=0))
        self.check(m.bytes([2, 3, 6, 6], [2, 4, 4, 4], m.add("Sigmoid", y)), fold=False)

    def test_weights_that_do_not_fit_stay_float(self):
        m = Model()
        values = [m.random.randint(0, 255) for _ in range(4 * 3 * 9)]
        w = m.add("DequantizeLinear", m.integers(UINT8, values, 4, 3, 3, 3), m.floats(values=[0.01]),
                  m.integers(UINT8, [90]))
        self.check(m.bytes([1, 3, 6, 6], [1, 4, 4, 4], m.add("Conv", m.quantized("x", 0.02, 120), w)), fold=False)

    def test_transposed_convolutions(self):
        for kernel, attributes, y in (
            (2, {"strides": [2, 2]}, [2, 3, 8, 10]),
            (3, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, [2, 3, 7, 9]),
            (3, {"strides": [2, 2], "output_padding": [1, 1]}, [2, 3, 10, 12]),
            (3, {"dilations": [2, 2]}, [2, 3, 8, 9]),
            (2, {"strides": [2, 2], "dilations": [2, 2]}, [2, 3, 9, 11]),  # windows of the extents of strides, with gaps
        ):
            with self.subTest(kernel=kernel, attributes=attributes):
                m = Model()
                z = m.add("ConvTranspose", "x", m.floats(4, 3, kernel, kernel), m.floats(3), **attributes)
                self.check(m.bytes([2, 4, 4, 5], y, m.add("Sigmoid", z)), share="cpu           0")

    # oneDNN 2.6 does not read what is per channel as it should where there is nothing but channels.
    def test_scales_and_shifts_of_channels_without_space(self):
        for extents in ([1], [1, 1], [2, 1], [1, 1, 1]):
            with self.subTest(extents=extents):
                m = Model()
                ones = [1] * len(extents)
                y = m.add("Add", m.add("Mul", "x", m.floats(1, 3, *ones)), m.floats(1, 3, *ones))
                self.check(m.bytes([2, 3, *extents], [2, 3, *extents], m.add("Relu", y)))

    # Their results have channels in blocks that are not full.
    def test_arithmetic_and_functions_behind_transposed_convolutions(self):
        for extents in ([1], [5], [4, 5], [2, 2, 3]):
            for function in ("Tanh", "Relu"):
                with self.subTest(extents=extents, function=function):
                    m = Model()
                    pads = [1] * (2 * len(extents))
                    y = m.add("ConvTranspose", "x", m.floats(3, 3, *([3] * len(extents))), pads=pads)
                    y = m.add(function, m.add("Mul", y, m.floats(2, 3, *extents)))
                    self.check(m.bytes([2, 3, *extents], [2, 3, *extents], y))

    def test_resized_and_joined(self):
        m = Model()
        small = m.add("Conv", "x", m.floats(4, 3, 1, 1))
        large = m.add("Resize", small, "", m.floats(4, values=[1.0, 1.0, 2.0, 3.0]))
        data = m.bytes([1, 3, 4, 5], [1, 4, 8, 15], m.add("Relu", large))
        self.check(data, share="cpu           0")

    # Narrow convolutions make channels-last tensors, over which oneDNN 2.6 misreads what follows a resampling.
    def test_feature_pyramids(self):
        for channels in (3, 8, 12, 20, 40):
            for join in ("Add", "Mul"):
                with self.subTest(channels=channels, join=join):
                    m = Model()
                    lateral = m.add("Conv", "x", m.floats(channels, 3, 3, 3), pads=[1, 1, 1, 1])
                    top = m.add("MaxPool", lateral, kernel_shape=[2, 2], strides=[2, 2])
                    top = m.add("Conv", top, m.floats(channels, channels, 3, 3), pads=[1, 1, 1, 1])
                    top = m.add("Resize", top, "", m.floats(4, values=[1.0, 1.0, 2.0, 2.0]))
                    y = m.add("Relu", m.add(join, top, lateral))
                    self.check(m.bytes([2, 3, 8, 10], [2, channels, 8, 10], y), share="cpu           0")

    def test_a_row_whose_elements_are_apart(self):
        m = Model()
        y = m.add("Transpose", "x", perm=[0, 2, 1])
        y = m.add("Slice", y, m.integers(INT64, [2], 1), m.integers(INT64, [3], 1), m.integers(INT64, [1], 1))
        self.check(m.bytes([1, 16, 5], [1, 1, 12], m.add("Tanh", m.add("MatMul", y, m.floats(16, 12)))))

    def test_moved_elements(self):
        m = Model()
        y = m.add("Conv", "x", m.floats(6, 3, 3, 3), m.floats(6))
        y = m.add("Transpose", y, perm=[0, 2, 3, 1])
        y = m.add("Reshape", y, m.integers(INT64, [1, -1, 2], 3))
        first = m.add("Slice", y, m.integers(INT64, [0], 1), m.integers(INT64, [20], 1), m.integers(INT64, [1], 1))
        last = m.add("Slice", y, m.integers(INT64, [-28], 1), m.integers(INT64, [1000], 1), m.integers(INT64, [1], 1))
        data = m.bytes([1, 3, 6, 6], [1, 48, 2], m.add("Softmax", m.add("Concat", last, first, axis=1)))
        self.check(data)


class Worth(Runs):
    """What oneDNN does slowly, or what is hardly anything, goes to the next delegate; `accept: everything` keeps it."""

    def placed(self, data, accept):
        """How many nodes run on onednn, and why the others do not."""
        model, config = (os.path.join(self.scratch.name, name) for name in ("m.onnx", "c.yaml"))
        with open(model, "wb") as file:
            file.write(data)
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(plugins=ARGS.plugins, fold="true", accept=accept))
        done = subprocess.run([ARGS.deputy, "partition", model, "--json", "--config", config], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        nodes = {entry["name"]: entry["nodes"] for entry in report["delegates"]}
        return nodes["onednn"], {refusal["detail"] for node in report["nodes"] for refusal in node["refusals"]}

    def both(self, data, nodes, kept, reason):
        count, reasons = self.placed(data, "worthwhile")
        self.assertEqual(count, kept, reasons)
        self.assertIn(reason, "; ".join(reasons))
        self.assertEqual(self.placed(data, "everything")[0], nodes)

    def test_a_small_partition(self):
        m = Model()
        y = m.add("Tanh", m.add("MatMul", "x", m.floats(8, 8)))
        self.both(m.bytes([1, 8], [1, 8], y), 2, 0, "too little work for a call of oneDNN")

    def test_what_has_only_a_reference_implementation(self):
        m = Model()
        y = m.add("Conv", "x", m.floats(32, 16, 3, 3), m.floats(32), pads=[1, 1, 1, 1])
        y = m.add("PRelu", y, m.floats(1, 1, 40, 1))
        y = m.add("Conv", y, m.floats(32, 32, 3, 3), m.floats(32), pads=[1, 1, 1, 1])
        self.both(m.bytes([1, 16, 40, 40], [1, 32, 40, 40], y), 3, 2, "only a slow implementation")

    def test_a_large_partition_stays_whole(self):
        m = Model()
        y = m.add("Conv", "x", m.floats(32, 16, 3, 3), m.floats(32), pads=[1, 1, 1, 1])
        y = m.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
        y = m.add("Softmax", m.add("Conv", y, m.floats(10, 32, 20, 20)), axis=1)
        self.assertEqual(self.placed(m.bytes([1, 16, 40, 40], [1, 10, 1, 1], y), "worthwhile")[0], 4)


class Profile(Runs):
    def network(self):
        """Conv, LeakyRelu and Tanh, which become one primitive, and a softmax."""
        m = Model()
        y = m.add("Conv", "x", m.floats(4, 3, 3, 3), m.floats(4))
        y = m.add("Tanh", m.add("LeakyRelu", y, alpha=0.25))
        return m.bytes([1, 3, 6, 6], [1, 4, 4, 4], m.add("Softmax", y, axis=1))

    def trace(self, *settings):
        model, config, trace = (os.path.join(self.scratch.name, name) for name in ("m.onnx", "c.yaml", "trace.json"))
        with open(model, "wb") as file:
            file.write(self.network())
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(plugins=ARGS.plugins, fold="true", accept="everything"))
        _, text = self.run_model(model, "out", "--config", config, "--profile", "--trace", trace, *settings)
        with open(trace, encoding="utf-8") as file:
            return [event for event in json.load(file)["traceEvents"] if event.get("cat") in ("step", "device")], text

    def test_every_primitive_is_an_event_with_its_nodes(self):
        events, text = self.trace()
        steps = [event for event in events if event["cat"] == "step"]
        self.assertEqual(len(steps), 1)
        primitives = [event for event in events if event["cat"] != "step"]
        convolution = next(event for event in primitives if event["name"] == "convolution")
        self.assertEqual(len(convolution["args"]["nodes"]), 3, convolution)
        self.assertIn("softmax", [event["name"] for event in primitives])
        self.assertRegex(text, r"(?m)^ +convolution +.*\bhost\b.*implementation")

    def test_events_lie_one_after_the_other_within_their_step(self):
        events, _ = self.trace()
        step = events[0]
        now = step["ts"]
        for event in events[1:]:
            self.assertGreaterEqual(event["ts"] + 1e-3, now)
            now = event["ts"] + event["dur"]
        self.assertLessEqual(now, step["ts"] + step["dur"] + 1e-3)

    def test_metadata_is_json_and_says_what_ran(self):
        events, _ = self.trace()
        for event in events[1:]:
            metadata = json.loads(event["args"]["metadata"])
            waiting = metadata.pop("waiting", None)
            self.assertEqual(set(metadata), {"implementation", "threads"})
            self.assertIn(waiting, ("polling", "asleep") if metadata["threads"] > 1 else (None,))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--plugins", required=True)
    ARGS, rest = parser.parse_known_args()
    if not os.path.exists(os.path.join(ARGS.plugins, "onednn.so")):
        sys.exit(f"no onednn.so in {ARGS.plugins}; packaging/install-deps.sh installs what it is built with")
    unittest.main(argv=[sys.argv[0]] + rest)
