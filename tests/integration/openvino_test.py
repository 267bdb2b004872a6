#!/usr/bin/env python3
"""Small models with the plugin `openvino` first, against the same on the CPU alone, and what the plugin says of its
options, its nodes, its cache and its events. Exits 77, with the reason, where the plugin was not built."""

import argparse
import json
import os
import random
import struct
import sys
import unittest

import onnx_bytes as onnx
from scratch import ScratchCase, run_program

ARGS = None
CONFIG = """version: 1
plugins: {{paths: ["{plugins}"]}}
placement: {{policy: priority}}
cache: {{dir: "{cache}"}}
delegates:
  - name: openvino
    required: true
    verify: {verify}
    isolation: {isolation}
    options: {{{options}}}
passes: {{fold_constants: false}}
cpu: {{threads: 2}}
"""
INT64 = 7


def floats(seed, *shape):
    count = 1
    for extent in shape:
        count *= extent
    source = random.Random(seed)
    return [source.uniform(-1, 1) for _ in range(count)]


def network(opset=13, names=("conv", "relu", "pool", "softmax")):
    """Conv, Relu, MaxPool and Softmax over rows."""
    nodes = [onnx.node("Conv", ["x", "w", "b"], ["a"], names[0], pads=[1, 1, 1, 1]),
             onnx.node("Relu", ["a"], ["r"], names[1]),
             onnx.node("MaxPool", ["r"], ["p"], names[2], kernel_shape=[2, 2], strides=[2, 2]),
             onnx.node("Softmax", ["p"], ["y"], names[3], axis=3)]  # fmt: skip
    weights = [onnx.tensor(floats(1, 8, 3, 3, 3), [8, 3, 3, 3], "w"), onnx.tensor(floats(2, 8), [8], "b")]
    return onnx.model(nodes, [onnx.value_info("x", [1, 3, 8, 8])], [onnx.value_info("y", [1, 8, 4, 4])], (), weights,
                      opset)  # fmt: skip


def read_npy(path):
    data = path.read_bytes()
    header = struct.unpack("<H", data[8:10])[0]
    code, size = ("f", 4) if b"'<f4'" in data[: 10 + header] else ("q", 8)
    return struct.unpack(f"<{(len(data) - 10 - header) // size}{code}", data[10 + header :])


class OpenVinoCase(ScratchCase):
    def config(self, options="", cache="off", isolation="none", verify="never"):
        return self.file("config.yaml", CONFIG.format(plugins=ARGS.plugins, options=options, cache=cache,
                                                      isolation=isolation, verify=verify))  # fmt: skip

    def deputy(self, *arguments, status=0):
        done = run_program(ARGS.deputy, *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def outputs(self, model, folder, *arguments):
        out = self.scratch / folder
        self.deputy("run", model, "--output-dir", out, "--seed", 3, *arguments)
        return read_npy(out / "y.npy")

    def placed(self, model, config):
        return json.loads(self.deputy("partition", model, "--json", "--config", config).stdout)

    def check(self, data, tolerance=1e-5, nodes=None):
        """The same results as the CPU's; `nodes`: so many run on openvino."""
        model, config = self.file("m.onnx", data), self.config()
        want, got = self.outputs(model, "cpu", "--config", "cpu-only"), self.outputs(model, "ov", "--config", config)
        self.assertEqual(len(got), len(want))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want)), tolerance * max(1.0, *map(abs, want)))
        if nodes is not None:
            placed = {entry["name"]: entry["nodes"] for entry in self.placed(model, config)["delegates"]}
            self.assertEqual(placed["openvino"], nodes)


class Answers(OpenVinoCase):
    def test_network_runs_as_one_partition(self):
        self.check(network(), nodes=4)

    # OpenVINO finds its own operators by the names of nodes.
    def test_nodes_of_equal_names_and_without(self):
        self.check(network(names=("same", "same", "", "")), nodes=4)

    # Relu has a newer definition with the same meaning, Softmax has one with another.
    def test_softmax_of_an_old_definition(self):
        self.check(network(opset=11), nodes=4)

    # The host writes it over the last axis, between a Flatten and a Reshape.
    def test_softmax_that_only_the_old_definition_has(self):
        nodes = [onnx.node("Relu", ["x"], ["r"], "relu"), onnx.node("Softmax", ["r"], ["y"], "softmax", axis=1)]
        shape = [2, 3, 4]
        data = onnx.model(nodes, [onnx.value_info("x", shape)], [onnx.value_info("y", shape)], opset=11)
        self.check(data, nodes=4)

    def test_extents_that_the_run_decides(self):
        nodes = [onnx.node("Relu", ["x"], ["r"], "relu"), onnx.node("NonZero", ["r"], ["n"], "nonzero"),
                 onnx.node("Cast", ["n"], ["f"], "cast", to=1), onnx.node("Add", ["f", "f"], ["y"], "add")]  # fmt: skip
        data = onnx.model(nodes, [onnx.value_info("x", [4, 5])], [onnx.value_info("y", [2, "n"])])
        self.check(data, nodes=3)  # all but Cast from int64

    def test_other_shapes_of_a_session(self):
        nodes = [onnx.node("Relu", ["x"], ["r"], "relu"), onnx.node("Softmax", ["r"], ["y"], "softmax", axis=1)]
        model = self.file("m.onnx", onnx.model(nodes, [onnx.value_info("x", ["n", 5])], [onnx.value_info("y", ["n", 5])]))
        config = self.config()
        for rows in (1, 3):
            shape = ["--shape", f"x={rows}x5"]
            want = self.outputs(model, f"cpu{rows}", "--config", "cpu-only", *shape)
            got = self.outputs(model, f"ov{rows}", "--config", config, *shape)
            self.assertEqual(len(got), 5 * rows)
            self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want)), 1e-6)

    def test_worker_process_in_its_sandbox(self):
        model, config = self.file("m.onnx", network()), self.config(isolation="process", verify="first_run")
        want, got = self.outputs(model, "cpu", "--config", "cpu-only"), self.outputs(model, "ov", "--config", config)
        self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want)), 1e-5)
        self.assertEqual(self.placed(model, config)["delegates"][0]["nodes"], 4)

    def test_runs_that_end_on_threads_of_openvino(self):
        model = self.file("m.onnx", network())
        config = self.config("num_streams: 2") if (os.cpu_count() or 1) > 1 else self.config("performance_hint: THROUGHPUT")
        want = self.outputs(model, "cpu", "--config", "cpu-only")
        got = self.outputs(model, "ov", "--config", config, "--repeat", 20)
        self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want)), 1e-5)


class Refusals(OpenVinoCase):
    def refusals(self, data):
        report = self.placed(self.file("m.onnx", data), self.config())
        return {refusal["detail"] for node in report["nodes"] for refusal in node["refusals"]}

    # OpenVINO's CPU computes these in 32 bits.
    def test_wide_integers_stay_on_the_cpu(self):
        shape = [onnx.value_info("x", [3], INT64)], [onnx.value_info("y", [3], INT64)]
        self.assertIn("int64", "; ".join(self.refusals(onnx.model([onnx.node("Add", ["x", "x"], ["y"], "add")], *shape))))

    def test_operators_that_it_does_not_read_leave_the_others(self):
        nodes = [onnx.node("Relu", ["x"], ["r"], "relu"), onnx.node("Det", ["r"], ["d"], "det"),
                 onnx.node("Relu", ["d"], ["y"], "last")]  # fmt: skip
        self.check(onnx.model(nodes, [onnx.value_info("x", [2, 3, 3])], [onnx.value_info("y", [2])]), nodes=2)


class Options(OpenVinoCase):
    def in_force(self, options=""):
        report = self.placed(self.file("m.onnx", network()), self.config(options))
        entry = next(entry for entry in report["delegates"] if entry["name"] == "openvino")
        return entry["options"]

    def test_floats_are_computed_in_float32_unless_the_option_says_otherwise(self):
        self.assertEqual(self.in_force()["precision"], "f32")

    def test_performance_hint_is_read_back(self):
        self.assertEqual(self.in_force("performance_hint: THROUGHPUT")["performance_hint"], "THROUGHPUT")

    def test_device_that_is_asked_about_each_node_takes_the_same(self):
        report = self.placed(self.file("m.onnx", network()), self.config("query: true"))
        self.assertEqual(report["delegates"][0]["nodes"], 4)

    # OpenVINO itself would compute in another one without a word.
    def test_precision_that_the_device_lacks_is_refused(self):
        model = self.file("m.onnx", network())
        for precision in ("f16", "bf16"):
            option = f"precision: {precision}"
            done = run_program(ARGS.deputy, "run", model, "--config", self.config(option))
            if done.returncode != 0:
                self.assertIn("option 'precision'", done.stderr)
            else:
                self.assertEqual(self.in_force(option)["precision"], precision)

    def test_option_that_openvino_does_not_have_is_refused(self):
        done = self.deputy("partition", self.file("m.onnx", network()), "--config", self.config("no_such: 1"), status=2)
        self.assertIn("option 'no_such' is unknown", done.stderr)


class Blobs(OpenVinoCase):
    def test_second_load_takes_the_blob_of_the_first(self):
        model, config = self.file("m.onnx", network()), self.config(cache=self.scratch / "cache")
        first, second = (self.outputs(model, folder, "--config", config) for folder in ("first", "second"))
        self.assertEqual(first, second)
        made = [partition["executable"] for partition in self.placed(model, config)["partitions"]
                if partition["delegate"] == "openvino"]  # fmt: skip
        self.assertEqual(made, ["restored"])


class Events(OpenVinoCase):
    def events(self, model):
        trace = self.scratch / "trace.json"
        self.deputy("run", self.file("m.onnx", model), "--config", self.config(), "--trace", trace)
        return [event for event in json.loads(trace.read_text())["traceEvents"]
                if event.get("cat") in ("step", "device")]  # fmt: skip

    # OpenVINO joins the names of nodes that it fused by commas.
    def test_nodes_whose_names_have_commas(self):
        names = {"a,b", "b", "softmax,", ",pool"}
        events = self.events(network(names=("a,b", "b", ",pool", "softmax,")))
        nodes = {name for event in events if event["cat"] == "device" for name in event["args"].get("nodes", [])}
        self.assertEqual(nodes, names)

    def test_events_have_nodes_and_lie_in_their_step(self):
        events = self.events(network())
        step = next(event for event in events if event["cat"] == "step")
        device = [event for event in events if event["cat"] == "device"]
        nodes = {name for event in device for name in event["args"].get("nodes", [])}
        self.assertEqual(nodes, {"conv", "relu", "pool", "softmax"})
        for event in device:
            self.assertGreaterEqual(event["ts"], step["ts"] - 1e-3)
            self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 1e-3)
            self.assertIn("implementation", json.loads(event["args"]["metadata"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--plugins", required=True)
    ARGS, rest = parser.parse_known_args()
    if not os.path.exists(os.path.join(ARGS.plugins, "openvino.so")):
        print(f"skipped: no openvino.so in {ARGS.plugins} (plugins/openvino/README.md says how to get OpenVINO)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + rest)
