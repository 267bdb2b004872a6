#!/usr/bin/env python3
"""`limits: {...}` at the command line: models without end, models that need more memory than they may have, and values
of the limits that are refused.

  limits_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import make_models
import onnx_bytes

DEPUTY = None


def integers(values, shape, name):
    """A TensorProto of int64."""
    return onnx_bytes.integer_tensor(7, b"".join(value.to_bytes(8, "little") for value in values), shape, name)


class Limits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def deputy(self, *arguments, status=0):
        done = subprocess.run([DEPUTY, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={"DEPUTY_CONFIG": "cpu-only", **os.environ})  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def model(self, data, name="m.onnx"):
        path = self.scratch / name
        path.write_bytes(data)
        return path

    def config(self, limits):
        path = self.scratch / "c.yaml"
        path.write_text(f"version: 1\nlimits:\n  {limits}\n")
        return path

    def count(self, outer, inner):
        """The inputs of the model that counts."""
        for name, value in (("outer", outer), ("inner", inner)):
            (self.scratch / f"{name}.npy").write_bytes(onnx_bytes.npy([value], (), "<i8"))
        return [f"--input={name}={self.scratch / name}.npy" for name in ("outer", "inner")]

    def test_R31_an_endless_loop_ends_at_the_limit_of_steps(self):
        model = self.model(make_models.counting())
        error = self.deputy("run", model, "--config", self.config("loop_steps: 1000"),
                            *self.count(1, 2**63 - 1), status=5).stderr  # fmt: skip
        self.assertIn("m.onnx: node 'outer' (Loop): node 'inner' (Loop): iteration 999 exceeds the limit of 1000 loop "
                      "steps, which all Loops and Scans of a run share; raise 'limits: {loop_steps: ...}'", error)
        self.deputy("run", model, "--config", self.config("loop_steps: 1000"), *self.count(10, 99))

    def test_every_command_that_runs_a_model_is_limited(self):
        inputs = self.count(1, 2**63 - 1)
        model = self.model(make_models.counting())
        for command in (["run"], ["bench", "--runs=1", "--warmup=0"], ["profile", "--runs=1"]):
            error = self.deputy(*command, model, *inputs, "--set=limits.loop_steps=50", status=5).stderr
            self.assertIn("the limit of 50 loop steps", error)

    def test_R31_the_time_of_a_run_is_limited(self):
        model, inputs = self.model(make_models.counting()), self.count(2**63 - 1, 1)
        config = self.config("loop_steps: none\n  timeout: 40ms")
        error = self.deputy("run", model, "--config", config, *inputs, status=5).stderr
        self.assertIn("m.onnx: node 'outer' (Loop): ", error)
        self.assertIn("did not end in time; raise 'limits: {timeout: 40ms}' in the configuration", error)
        for command in ("run", "bench"):
            error = self.deputy(command, model, "--config", config, *inputs, "--timeout=30ms", status=5).stderr
            self.assertIn("did not end in time; the time limit of the run is 30ms", error)

    def test_R173_a_range_of_a_billion_ends_in_time(self):
        count = 10**9  # 4 GB; what is in memory when the run has ended shows how much of it was written
        zero, one = onnx_bytes.tensor([0.0], (), "zero"), onnx_bytes.tensor([1.0], (), "one")
        limit = onnx_bytes.tensor([float(count)], (), "n")
        node = onnx_bytes.node("Range", ["zero", "n", "one"], ["y"], "all")
        fixed = onnx_bytes.model([node], [], [onnx_bytes.value_info("y", (count,))], initializers=[zero, one, limit])
        opened = onnx_bytes.model([node], [onnx_bytes.value_info("n", ())], [onnx_bytes.value_info("y", ("m",))],
                                  initializers=[zero, one])  # fmt: skip
        (self.scratch / "n.npy").write_bytes(onnx_bytes.npy([float(count)], (), "<f4"))
        for name, data, inputs in (("fixed", fixed, []), ("open", opened, [f"--input=n={self.scratch}/n.npy"])):
            with self.subTest(name):
                command = [DEPUTY, "run", str(self.model(data)), "--timeout", "20ms", "--set", "cpu.threads=1", *inputs]
                with subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                      env={"DEPUTY_CONFIG": "cpu-only", **os.environ}) as running:  # fmt: skip
                    error = running.stderr.read()
                    _, status, usage = os.wait4(running.pid, 0)
                    running.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(running.returncode, 5, error)
                self.assertIn("node 'all' (Range): the run did not end in time", error)
                self.assertLess(usage.ru_maxrss, 1 << 20, "kilobytes")

    # One operator with at least ten seconds of work and a small output, behind constants that are filled in the run;
    # unit/cpu/long_work_test.cpp has the others.
    LONG_WORK = {
        "MatMul of int64": ([(4096, 4096), (4096, 4096)], 7, "MatMul", {}),
        "MatMul of uint32": ([(4096, 4096), (4096, 4096)], 12, "MatMul", {}),
        "Gemm of int32": ([(4096, 4096), (4096, 4096)], 6, "Gemm", {"transB": 1}),
        "Einsum of int64": ([(4096, 4096), (4096, 4096)], 7, "Einsum", {"equation": "ij,jk->ik"}),
        "LpPool": ([(1, 1, 4096, 4096)], 1, "LpPool", {"kernel_shape": [2048, 2048], "p": 3}),
    }

    def processor_time(self, command, status):
        """The seconds that a command takes of the processor: the machine may be busy, so that the clock tells little."""
        command = [DEPUTY, *map(str, command), "--set", "cpu.threads=1"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                              env={"DEPUTY_CONFIG": "cpu-only", **os.environ}) as running:  # fmt: skip
            error = running.stderr.read()
            _, ended, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(ended)
        self.assertEqual(running.returncode, status, error)
        return usage.ru_utime + usage.ru_stime, error

    def ends_in_time(self, nodes, initializers, output=1, most=2):
        """Runs the nodes, of which the last one, 'long', writes y, with a limit of a second."""
        model = self.model(onnx_bytes.model(nodes, [], [onnx_bytes.chunk(1, "y") + onnx_bytes.chunk(2, onnx_bytes.chunk(
            1, onnx_bytes.number(1, output)))], opset=20, initializers=initializers))  # fmt: skip
        seconds, error = self.processor_time(["run", model, "--timeout", "1s"], status=5)
        self.assertIn("the run did not end in time", error)
        self.assertLess(seconds, most)

    def test_R173_long_work_ends_in_time(self):
        for name, (shapes, dtype, operator, attributes) in self.LONG_WORK.items():
            with self.subTest(name):
                nodes, initializers, inputs = [], [], []
                for i, shape in enumerate(shapes):
                    initializers.append(integers(shape, (len(shape),), f"shape{i}"))
                    nodes.append(onnx_bytes.node("ConstantOfShape", [f"shape{i}"], [f"float{i}"]))
                    inputs.append(f"float{i}" if dtype == 1 else f"x{i}")
                    if dtype != 1:
                        nodes.append(onnx_bytes.node("Cast", [f"float{i}"], [f"x{i}"], to=dtype))
                nodes.append(onnx_bytes.node(operator, inputs, ["y"], "long", **attributes))
                self.ends_in_time(nodes, initializers, dtype)

    def test_R173_boxes_and_transforms_end_in_time(self):
        boxes, count = 60000, integers([60000], (1,), "count")
        shapes = [integers([1, boxes, 4], (3,), "of_boxes"), integers([1, 80, boxes], (3,), "of_scores")]
        fill = [onnx_bytes.node("ConstantOfShape", [f"of_{name}"], [name]) for name in ("boxes", "scores")]
        self.ends_in_time([*fill, onnx_bytes.node("NonMaxSuppression", ["boxes", "scores", "count"], ["y"], "long")],
                          [*shapes, count], 7)  # fmt: skip
        length = integers([1, 1000003, 1], (3,), "length")
        # Its folding takes two seconds before that.
        self.ends_in_time([onnx_bytes.node("ConstantOfShape", ["length"], ["x"]),
                           onnx_bytes.node("DFT", ["x"], ["y"], "long")], [length], most=4)  # fmt: skip

    def test_R173_the_table_of_a_transform_is_memory_of_the_session(self):
        shape, length = integers([1, 4, 1], (3,), "shape"), integers([(1 << 22) + 15], (), "n")
        nodes = [onnx_bytes.node("ConstantOfShape", ["shape"], ["zeros"]),
                 onnx_bytes.node("Add", ["zeros", "given"], ["x"]),
                 onnx_bytes.node("DFT", ["x", "n"], ["y"], "long", onesided=1)]  # fmt: skip
        model = self.model(onnx_bytes.model(nodes, [onnx_bytes.value_info("given", (1, 4, 1))],
                                            [onnx_bytes.value_info("y", (1, (1 << 21) + 8, 2))], opset=20,
                                            initializers=[shape, length]))  # fmt: skip
        _, error = self.processor_time(["run", model, "--timeout", "2s", "--set=limits.memory=100MB"], status=5)
        self.assertIn("exceed the memory limit", error)

    def test_R173_folding_of_long_work_ends_in_time(self):
        """A node takes two seconds at most before it is left to the run."""
        values = [onnx_bytes.tensor([0.5] * 4096, (1, 1, 64, 64), "x"),
                  onnx_bytes.tensor([0, 0, 63, 63], (1, 4), "regions"), integers([0], (1,), "images")]  # fmt: skip
        node = onnx_bytes.node("RoiAlign", ["x", "regions", "images"], ["y"], "long", sampling_ratio=4096,
                               output_height=16, output_width=16)  # fmt: skip
        self.ends_in_time([node], values, most=4)

    def test_the_option_takes_the_place_of_the_configuration(self):
        config = self.config("timeout: 1us")
        self.deputy("run", self.model(make_models.relu()), "--config", config, status=5)
        self.deputy("run", self.model(make_models.relu()), "--config", config, "--timeout=10s")

    def test_bench_needs_a_unit_as_well(self):
        error = self.deputy("bench", self.model(make_models.relu()), "--timeout=5", status=2).stderr
        self.assertIn("--timeout: '5' is not a duration such as 500ms or 1.5s: the unit is missing", error)

    def test_a_model_that_needs_more_memory_is_refused(self):
        model = self.model(make_models.wide())
        error = self.deputy("run", model, "--config", self.config("memory: 6MB"), status=3).stderr
        self.assertIn("m.onnx: node 'second' (Neg): ", error)
        self.assertRegex(error, r"\d+ bytes for tensors, of which 'b' \[1000,1000\] has 4000000 bytes exceed the memory "
                                r"limit of the session: 6000000 bytes, of which 4000000 are in use; raise 'limits: ")
        self.deputy("run", model, "--config", self.config("memory: 20MB"))

    def test_a_verification_has_the_limits_of_a_session(self):
        config = self.scratch / "null.yaml"
        for limit, model, inputs, status, message in (
            ("memory: 6MB", make_models.wide(), [], 5, "exceed the memory limit of the session"),
            ("loop_steps: 50", make_models.counting(), self.count(1, 2**63 - 1), 5, "the limit of 50 loop steps"),
            ("timeout: 40ms, loop_steps: none", make_models.counting(), self.count(2**63 - 1, 1), 5,
             "did not end in time"),
        ):  # fmt: skip
            with self.subTest(limit):
                config.write_text("version: 1\nplugins: {paths: [$deputy/plugins]}\n"
                                  f"delegates: [{{name: 'null'}}]\nlimits: {{{limit}}}\n")  # fmt: skip
                error = self.deputy("verify", self.model(model), "--config", config, *inputs, status=status).stderr
                self.assertIn(message, error)

    def test_weights_that_are_packed_count(self):
        error = self.deputy("run", self.model(make_models.filters()), "--set=limits.memory=100kB", status=3).stderr
        self.assertIn("m.onnx: node 'the filters' (Conv): ", error)
        self.assertIn("for packed weights exceed the memory limit of a session: 100000 bytes", error)

    def test_a_value_of_a_run_is_limited_there(self):
        (self.scratch / "extents.npy").write_bytes(onnx_bytes.npy([1000, 1000], (2,), "<i8"))
        error = self.deputy("run", self.model(make_models.expanding()), "--set=limits.memory=1MB",
                            f"--input=extents={self.scratch / 'extents.npy'}", status=5).stderr  # fmt: skip
        self.assertIn("node 'grow' (ConstantOfShape): 4000000 bytes for value 'grown' [1000,1000] exceed", error)

    def test_graphs_nested_deeper_than_32_are_refused(self):
        self.deputy("inspect", self.model(make_models.nested(32)))
        error = self.deputy("run", self.model(make_models.nested(33)), status=3).stderr
        self.assertIn("m.onnx: graphs are nested deeper than 32 at node 'level 32'", error)

    def test_R150_a_long_chain_needs_no_deep_stack(self):
        model, dpm = self.model(make_models.chain(20000)), self.scratch / "m.dpm"
        for command in (["run", model], ["inspect", model], ["partition", model], ["convert", model, "-o", dpm],
                        ["run", dpm]):  # fmt: skip
            done = subprocess.run([DEPUTY, *map(str, command)], capture_output=True, text=True, timeout=300,
                                  env={"DEPUTY_CONFIG": "cpu-only", "HOME": str(self.scratch)},
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10)))  # fmt: skip
            self.assertEqual(done.returncode, 0, f"{command[0]}: {done.stderr}")

    def test_wrong_values_are_refused_with_their_place(self):
        for limits, place, message in (
            ("loop_steps: 0", "3:15", "'loop_steps' must be none or a whole number from 1 to"),
            ("loop_steps: all", "3:15", "'loop_steps' must be none or a whole number from 1 to"),
            ("timeout: 5", "3:12", "'timeout' must be a duration from 0ms to 24h with its unit (us, ms, s, min, h), not '5': the unit is missing"),
            ("timeout: 2000min", "3:12", "'timeout' must be a duration from 0ms to 24h with its unit (us, ms, s, min, h), not '2000min'"),
            ("memory: lots", "3:11", "'memory' must be a size from 0B to 1000TB with its unit"),
            ("loopsteps: 5", "3:3", "unknown key 'loopsteps'; did you mean 'loop_steps'?"),
        ):
            with self.subTest(limits):
                config = self.config(limits)
                error = self.deputy("run", self.model(make_models.relu()), "--config", config, status=2).stderr
                self.assertIn(f"deputy: error: {config}:{place}: {message}", error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    arguments, rest = parser.parse_known_args()
    DEPUTY = arguments.deputy
    unittest.main(argv=[sys.argv[0]] + rest)
