#!/usr/bin/env python3
"""What ABI 0.2 has for delegates beyond fixed shapes and mapped weights, on real plugins: outputs whose extents only the
run knows, and weights that are read in pieces.

  plugin_extents_test.py --deputy DEPUTY --fixtures DIR
"""

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
INT64 = 7
GIB = 1 << 30


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


class Plugins(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def use(self, fixture, more=""):
        self.config = self.scratch / "c.yaml"
        plugin = Path(ARGS.fixtures) / f"{fixture}.so"
        folder = self.scratch / "plugins"
        folder.mkdir()
        (folder / plugin.name).write_bytes(plugin.read_bytes())
        self.config.write_text(f"version: 1\nplugins: {{paths: [{folder}], trust: probe}}\ncache: {{dir: off}}\n"
                               f"delegates: [{{name: {fixture}, required: true{more}}}]\n")  # fmt: skip

    def deputy(self, *arguments):
        return subprocess.run([ARGS.deputy, *map(str, arguments), "--config", str(self.config)], capture_output=True,
                              text=True, timeout=600, check=False)  # fmt: skip

    def owners(self, model):
        placed = self.deputy("partition", model, "--json")
        self.assertEqual(placed.returncode, 0, placed.stderr)
        return {node["name"]: node["delegate"] for node in json.loads(placed.stdout)["nodes"]}


class OpenExtents(Plugins):
    def run_and_expect(self, model, inputs, expected):
        given = []
        for name, (data, shape) in inputs.items():
            path = self.scratch / f"{name}.npy"
            path.write_bytes(onnx_bytes.npy(data, shape))
            given += ["--input", f"{name}={path}"]
        for name, (values, shape) in expected.items():
            path = self.scratch / f"expected_{name}.npy"
            path.write_bytes(onnx_bytes.npy(values, shape, "<i8"))
            given += ["--expect", f"{name}={path}"]
        done = self.deputy("run", model, *given)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("match", done.stdout)

    def test_non_zero_and_the_non_max_suppression_of_what_it_finds(self):
        """The boxes that a mask selects, and of these the ones that do not overlap: both lengths are the run's."""
        constants = [onnx_bytes.integer_tensor(INT64, struct.pack("<q", 10), (1,), "most"),
                     onnx_bytes.tensor([0.5], (1,), "overlap"),
                     onnx_bytes.integer_tensor(INT64, struct.pack("<3q", 1, -1, 4), (3,), "as_boxes"),
                     onnx_bytes.integer_tensor(INT64, struct.pack("<3q", 1, 1, -1), (3,), "as_scores"),
                     onnx_bytes.integer_tensor(INT64, struct.pack("<q", -1), (1,), "flat")]  # fmt: skip
        nodes = [onnx_bytes.node("NonZero", ["mask"], ["found"], "search"),
                 onnx_bytes.node("Reshape", ["found", "flat"], ["indices"], "flatten"),
                 onnx_bytes.node("Gather", ["boxes", "indices"], ["kept"], "select"),
                 onnx_bytes.node("Gather", ["scores", "indices"], ["kept_scores"], "select_scores"),
                 onnx_bytes.node("Reshape", ["kept", "as_boxes"], ["b"], "to_boxes"),
                 onnx_bytes.node("Reshape", ["kept_scores", "as_scores"], ["s"], "to_scores"),
                 onnx_bytes.node("NonMaxSuppression", ["b", "s", "most", "overlap"], ["chosen"], "suppress")]  # fmt: skip
        model = self.scratch / "m.onnx"
        model.write_bytes(onnx_bytes.model(
            nodes, [onnx_bytes.value_info("mask", (4,)), onnx_bytes.value_info("boxes", (4, 4)),
                    onnx_bytes.value_info("scores", (4,))],
            [onnx_bytes.value_info("found", (1, "found"), INT64), onnx_bytes.value_info("chosen", ("n", 3), INT64)],
            initializers=constants))  # fmt: skip
        self.use("finder")
        owners = self.owners(model)
        self.assertEqual((owners["search"], owners["suppress"]), ("finder", "finder"))
        boxes = ([0, 0, 1, 1, 0, 0.1, 1, 1.1, 5, 5, 6, 6, 0, 0, 1, 1], (4, 4))
        scores = ([0.9, 0.8, 0.7, 0.95], (4,))
        # The first two overlap; the last one, which overlaps both and is better, is not selected by the mask.
        self.run_and_expect(model, {"mask": ([1, 1, 1, 0], (4,)), "boxes": boxes, "scores": scores},
                            {"found": ([0, 1, 2], (1, 3)), "chosen": ([0, 0, 0, 0, 0, 2], (2, 3))})
        self.run_and_expect(model, {"mask": ([0, 0, 0, 1], (4,)), "boxes": boxes, "scores": scores},
                            {"found": ([3], (1, 1)), "chosen": ([0, 0, 0], (1, 3))})

    def test_an_output_without_elements(self):
        model = self.scratch / "m.onnx"
        model.write_bytes(onnx_bytes.model([onnx_bytes.node("NonZero", ["x"], ["y"], "search")],
                                           [onnx_bytes.value_info("x", (2, 2))],
                                           [onnx_bytes.value_info("y", (2, "n"), INT64)]))  # fmt: skip
        self.use("finder")
        self.run_and_expect(model, {"x": ([0, 0, 0, 0], (2, 2))}, {"y": ([], (2, 0))})

    def test_results_are_verified_and_checked(self):
        model = self.scratch / "m.onnx"
        model.write_bytes(onnx_bytes.model([onnx_bytes.node("NonZero", ["x"], ["y"], "search")],
                                           [onnx_bytes.value_info("x", (2, 2))],
                                           [onnx_bytes.value_info("y", (2, "n"), INT64)]))  # fmt: skip
        self.use("finder", ", verify: {when: always}")
        with self.config.open("a") as config:
            config.write("debug: {check: true}\n")
        self.run_and_expect(model, {"x": ([0, 5, 0, 7], (2, 2))}, {"y": ([0, 1, 1, 1], (2, 2))})


class Streaming(Plugins):
    def test_two_gigabytes_of_weights_are_compiled_in_the_memory_of_the_delegates_own_copy(self):
        """Eight products of 256 MiB each, in external data. The delegate keeps each weight once; at most a fifth of the
        model's size is needed beside these."""
        extent, layers = 8192, 8
        size = extent * extent * 4
        weights = self.scratch / "weights.bin"
        with weights.open("wb") as file:
            for layer in range(layers):
                file.seek(layer * size)  # zeros, as a hole, except for the diagonal
                for i in range(0, extent, 64):
                    file.seek(layer * size + (i * extent + i) * 4)
                    file.write(floats([2.0]))
            file.truncate(layers * size)
        constants = [external_tensor((extent, extent), f"w{i}", weights.name, i * size, size) for i in range(layers)]
        nodes, value = [], "x"
        for i in range(layers):
            nodes += [onnx_bytes.node("MatMul", [value, f"w{i}"], [f"p{i}"], f"product{i}"),
                      onnx_bytes.node("Neg", [f"p{i}"], [f"n{i}"], f"apart{i}")]  # fmt: skip
            value = f"n{i}"
        model = self.scratch / "m.onnx"
        model.write_bytes(onnx_bytes.model(nodes, [onnx_bytes.value_info("x", (1, extent))],
                                           [onnx_bytes.value_info(value, (1, extent))], initializers=constants))
        self.use("streamer")
        inputs = self.scratch / "x.npy"
        inputs.write_bytes(onnx_bytes.npy([1.0] * extent, (1, extent)))
        wanted = self.scratch / "y.npy"
        wanted.write_bytes(onnx_bytes.npy([256.0 if i % 64 == 0 else 0.0 for i in range(extent)], (1, extent)))
        done = self.deputy("run", model, "--input", f"x={inputs}", "--expect", f"{value}={wanted}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("match", done.stdout)
        print(f"peak {peak / GIB:.2f} GiB for {layers * size / GIB:.2f} GiB of weights", file=sys.stderr)
        self.assertGreater(peak, layers * size, "the delegate has a copy of its own")
        self.assertLess(peak, 1.2 * layers * size)


def external_tensor(shape, name, location, offset, length):
    """TensorProto: dims 1, data_type 2, name 8, external_data 13 (key 1, value 2), data_location 14."""
    entry = lambda key, text: onnx_bytes.chunk(13, onnx_bytes.chunk(1, key.encode()) + onnx_bytes.chunk(2, text.encode()))
    return (b"".join(onnx_bytes.number(1, dim) for dim in shape) + onnx_bytes.number(2, onnx_bytes.FLOAT)
            + onnx_bytes.chunk(8, name.encode()) + entry("location", location) + entry("offset", str(offset))
            + entry("length", str(length)) + onnx_bytes.number(14, 1))  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
