#!/usr/bin/env python3
"""Real models with reference outputs, and the ONNX conformance cases, through the program. Exits 77, with the reason,
where the data is not there."""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

import onnx_cases

ARGS = None
MODELS = ["aecmos_16k", "dnsmos_p808", "magika_fast_v2_1", "mnist_cntk", "ort_qdq_resblock", "policy_go1",
          "ppocr_det_v2_ch", "silero_vad_16k_op15", "squeezenet_fp16", "t5_random_encoder", "ultraface_rfb_320",
          "vittrack"]
FOREIGN = ["tflm_hello_world_float", "tiny_kws_fp32", "tiny_resnet8_int8"]  # other formats
SHAPES = ["ppocr_det_v2_ch", "silero_vad_16k_op15", "t5_random_encoder"]  # data sets of several shapes
ONEDNN = ["{name: onednn, min_nodes: 1}"]
ALL_ONEDNN = ["{name: onednn, min_nodes: 1, options: {accept: everything}}"]  # however small and slow
NPU = ["{name: npu0, delegate: sim_npu, options: {frequency: high}}", "{name: onednn}"]
NPU_FIRST = ["{name: npu0, delegate: sim_npu, min_nodes: 1}"]
NPU_TOLERANCE = ["--atol-scale", "1e-2"]  # factors of products are fp16
# Both outputs of the quantized model are sums of quantized values.
HALF = ["--atol-scale", "1e-2", "--except", "MobilenetEdgeTPU/expanded_conv_4/add", "--except",
        "MobilenetEdgeTPU/expanded_conv_3/add_DequantizeLinear"]
# Of the conformance cases in each class, the share that passes at least. Of the newest operators those that did not
# change; other classes are training, text, pictures and trees.
PASS = {"core": 1, "core_int": 1, "core_fp16_fp64": 1, "control_flow": 1, "simple": 1, "pytorch-operator": 1,
        "pytorch-converted": 1, "lowbit": 1, "bf16": 1, "seq_optional": 1, "opset24+": 0.48}
# What the delegates' tables say beyond operators, definitions, element types and ranks, and whether it holds for a case
# of one node. All have a form with constant parameters.
CONDITIONS = {
    "constant parameters": lambda case: True,
    "beside a node that is computed here": lambda case: "float32" in (case.dtype(case.inputs[0]),
                                                                      case.dtype(case.outputs[0])),
    "inference": lambda case: (case.integer("training_mode", 0) == 0 and len(case.outputs) == 1 and
                               (case.op_type != "Dropout" or len(case.inputs) < 3)),
    "the first output alone": lambda case: len(case.outputs) == 1,
    "no ceil_mode": lambda case: case.integer("ceil_mode", 0) == 0,
    "no dilations": lambda case: "dilations" not in case.attributes,
    "one input as large as the result": lambda case: case.dims(case.outputs[0]) in map(case.dims, case.inputs),
    "the first input as large as the result": lambda case: case.dims(case.outputs[0]) == case.dims(case.inputs[0]),
    "parameters as large as the normalized extents": lambda case: True,
    "padding written out": lambda case: case.text("auto_pad", "NOTSET") == "NOTSET" and
                                        "output_shape" not in case.attributes,
    "odd sizes": lambda case: case.integer("size", 1) % 2 == 1,
    "steps of 1": lambda case: len(case.inputs) < 5,
    "mode constant": lambda case: case.text("mode", "constant") == "constant",
    "one scale or constants": lambda case: case.dims(case.inputs[1]) in ([], [1]),
    "an exponent of one element": lambda case: case.dims(case.inputs[1]) in ([], [1]),
    "positions as oneDNN has them": lambda case: (case.text("mode", "nearest") == "linear" and
                                                  "antialias" not in case.attributes and
                                                  "coordinate_transformation_mode" not in case.attributes),
    "kernels up to 11x11": lambda case: True,
    "windows up to 16x16": lambda case: True,
}
WITHIN = {"onednn": 150, "sim_npu": 50}  # cases that the tables cover at least


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


class WithModels(WithDeputy):
    def passes(self, *arguments):
        folders = [os.path.join(ARGS.data, "models", name) for name in MODELS + FOREIGN]
        done = deputy("test-case", *folders, *arguments)
        self.assertEqual(done.stdout.splitlines()[-1], f"12 passed, 0 failed, {len(FOREIGN)} skipped",
                         done.stdout + done.stderr)
        self.assertNotIn("refused", done.stderr)


class RealModels(WithModels):
    def test_on_the_cpu_alone(self):
        self.passes()

    def test_on_the_cpu_alone_via_dpm(self):
        self.passes("--via-dpm")

    def test_with_onednn_first(self):
        self.passes(*self.config(ONEDNN))

    def test_with_all_that_onednn_has_first(self):
        self.passes(*self.config(ALL_ONEDNN))

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


class RequestsOfRealModels(WithModels):
    """Eight requests in flight, the delegates in this process and in one of their own."""

    def pass_in_flight(self, delegates, *arguments):
        for isolation in ("none", "process"):
            isolated = [delegate.replace("{name:", f"{{isolation: {isolation}, name:") for delegate in delegates]
            with self.subTest(isolation=isolation):
                self.passes("--in-flight", "8", *arguments, *self.config(isolated))

    def test_with_onednn_first(self):
        self.pass_in_flight(ALL_ONEDNN)

    def test_with_the_npu_first(self):
        self.pass_in_flight(NPU, *HALF)


class ConformanceCases(WithDeputy):
    @classmethod
    def setUpClass(cls):
        cls.cases = onnx_cases.read(os.path.join(ARGS.data, "onnx-cases"))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        listed = json.loads(deputy("plugins", "--operators", "--probe", "--json").stdout)["delegates"]
        cls.tables = {entry["delegate"]: entry["operators"] for entry in listed}
        # Those that move elements, none of which is NaN in the cases: oneDNN's maximum does not pass it on.
        beside = {row["op_type"] for table in cls.tables.values() for row in table if row["note"].startswith("beside")}
        cls.forms = {}  # by case: its folder, and those of its other forms
        for case in cls.cases:
            cls.forms[case.name] = [case.folder]
            for form in ("constants", "neighbours") if case.op_type in beside else ("constants",):
                folder = os.path.join(cls.folder.name, case.name + "_with_" + form)
                if onnx_cases.write_with_constants(case, folder, form == "neighbours"):
                    cls.forms[case.name].append(folder)
        cls.alone = []  # with one of several outputs
        for case in cls.cases:
            count = len(onnx_cases.every(case.graph, onnx_cases.OUTPUT))
            for index in range(count if count > 1 else 0):
                cls.alone.append(os.path.join(cls.folder.name, f"{case.name}_output_{index}_alone"))
                onnx_cases.write_with_one_output(case, cls.alone[-1], index)

    def results(self, folders, *arguments):
        """By folder. Nothing fails, and what is skipped has a reason."""
        done = deputy("test-case", *folders, "--json", *arguments)
        self.assertTrue(done.stdout.startswith("{"), done.stdout[-500:] + done.stderr[-500:])
        results = {result["folder"]: result for result in json.loads(done.stdout)["cases"]}
        self.assertEqual(set(results), set(folders))
        failures = [f"{folder}: {result['detail']}" for folder, result in results.items() if result["result"] == "fail"]
        self.assertEqual(failures[:20], [])
        for folder, result in results.items():
            self.assertTrue(result["result"] == "pass" or result["detail"], f"a skip without a reason: {folder}")
        return results

    def passes(self, *arguments):
        results = self.results([case.folder for case in self.cases], *arguments)
        passed = {}
        for case in self.cases:
            passed.setdefault(case.row["class"], []).append(results[case.folder]["result"] == "pass")
        for name, share in PASS.items():
            skipped = [case.name for case in self.cases
                       if case.row["class"] == name and results[case.folder]["result"] != "pass"]
            self.assertGreaterEqual(sum(passed[name]), share * len(passed[name]), f"{name}: skipped {skipped[:20]}")
        self.results(sum((forms[1:] for forms in self.forms.values()), []), *arguments)

    def test_on_the_cpu_alone(self):
        self.passes()

    def test_on_the_cpu_alone_via_dpm(self):
        self.passes("--via-dpm")

    def test_each_output_alone(self):
        self.assertGreater(len(self.alone), 200)
        for config in ([], self.config(ONEDNN), [*NPU_TOLERANCE, *self.config(NPU_FIRST)]):
            results = self.results(self.alone, *config)
            self.assertGreater(sum(result["result"] == "pass" for result in results.values()), 0.8 * len(results))

    def test_with_onednn_first(self):
        self.passes(*self.config(ALL_ONEDNN))

    def test_with_onednn_first_via_dpm(self):
        self.passes("--via-dpm", *self.config(ALL_ONEDNN))

    def test_with_the_npu_first(self):
        self.passes(*NPU_TOLERANCE, *self.config(NPU_FIRST))

    def test_with_the_npu_first_via_dpm(self):
        self.passes("--via-dpm", *NPU_TOLERANCE, *self.config(NPU_FIRST))

    def runs_what_its_table_says(self, delegate, name, *config):
        table = self.tables[delegate]

        def holds(row, case):
            parts = [part for part in row["note"].split(", ") if part]
            self.assertLessEqual(set(parts), set(CONDITIONS), f"{row['op_type']}: a note that no test knows")
            return all(CONDITIONS[part](case) for part in parts)

        within = [case for case in self.cases
                  if any(case.is_covered_by(row) and holds(row, case) for row in table)]
        results = self.results(sum((self.forms[case.name] for case in within), []), *config)
        elsewhere = [case for case in within if not any(
            results[folder]["nodes"].get(name, 0) == sum(results[folder]["nodes"].values()) > 0
            for folder in self.forms[case.name])]
        print(f"\n{name}: {len(within) - len(elsewhere)} of the {len(within)} cases within its table run on it")
        for case in elsewhere:
            print(f"  not {case.name}: {self.refusal(self.forms[case.name][-1], case.op_type, name, *config)}")
        self.assertGreaterEqual(len(within), WITHIN[delegate])
        self.assertLessEqual(len(elsewhere), 0.1 * len(within))

    def refusal(self, folder, op_type, name, *config):
        config = [argument for argument in config if argument not in NPU_TOLERANCE]
        done = deputy("partition", os.path.join(folder, "model.onnx"), "--json", *config)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
        return "; ".join(f"{refusal['reason']}: {refusal['detail']}" for node in json.loads(done.stdout)["nodes"]
                         for refusal in node["refusals"] if node["op_type"] == op_type and refusal["delegate"] == name)

    def test_what_the_table_of_onednn_covers_runs_on_it(self):
        self.runs_what_its_table_says("onednn", "onednn", *self.config(ALL_ONEDNN))

    def test_what_the_table_of_the_npu_covers_runs_on_it(self):
        self.runs_what_its_table_says("sim_npu", "npu0", *NPU_TOLERANCE, *self.config(NPU_FIRST))


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
