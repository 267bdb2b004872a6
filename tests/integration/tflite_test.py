#!/usr/bin/env python3
"""TensorFlow Lite models beside the LiteRT interpreter (ai-edge-litert of PyPI): real models, and models of one operator
made here. Exits 77, with the reason, where the interpreter or the models are missing.

  packaging/peers.sh makes a Python with the interpreter in build/peers, which ctest finds."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
    from tflite_models import with_float_weights
    from tflite_networks import Network
    from tflite_operators import CASES, SEED
    from tflite_states import CASES as STATES
    import tflite_subgraphs  # more CASES
except ImportError as error:
    print(f"skipped: {error}; packaging/peers.sh installs what is missing")
    sys.exit(77)

ARGS = None
MODELS = ["tflm_hello_world_float", "tiny_kws_fp32", "tiny_resnet8_int8"]
SEEDS = 10
# Of the largest element, where LiteRT rounds float activations to 8 bits and Deputy does not.
ROUNDED_ACTIVATIONS = 2e-2


def litert(content, inputs):
    interpreter = Interpreter(model_content=content, num_threads=1)
    for detail, array in zip(interpreter.get_input_details(), inputs):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return ([detail["name"] for detail in interpreter.get_input_details()],
            [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()])


def deputy(content, names, inputs):
    with tempfile.TemporaryDirectory() as scratch:
        model = os.path.join(scratch, "model.tflite")
        with open(model, "wb") as file:
            file.write(content)
        command = [ARGS.deputy, "run", model, "--output-dir", os.path.join(scratch, "out")]
        for index, (name, array) in enumerate(zip(names, inputs)):
            path = os.path.join(scratch, f"input_{index}.npy")
            np.save(path, array)
            command += ["--input", f"{name}={path}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("written to "))
        return [np.load(os.path.join(scratch, "out", name)) for name in line.split(": ", 1)[1].split(", ")]


def difference(ours, theirs, relative):
    """What is wrong with `ours`; None where nothing is."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype} {ours.shape}, not {theirs.dtype} {theirs.shape}"
    if theirs.size == 0 or np.array_equal(ours, theirs):
        return None
    if theirs.dtype in (np.int8, np.uint8, np.int16):
        steps = np.abs(ours.astype(np.int32) - theirs.astype(np.int32)).max()
        return f"{steps} steps apart" if steps > 1 else None
    if theirs.dtype.kind != "f":
        return f"{ours.ravel()[:8]}, not {theirs.ravel()[:8]}"
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return "not finite in other places"
    finite = np.isfinite(theirs)
    most = np.abs(theirs[finite]).max() if finite.any() else 0
    apart = np.abs(ours[finite] - theirs[finite]).max() if finite.any() else 0
    return f"{apart:.3g} apart, the largest is {most:.3g}" if apart > relative * most + 1e-7 else None


class RealModels(unittest.TestCase):
    def test_agree_with_litert(self):
        for name in MODELS:
            with open(os.path.join(ARGS.data, "models", name, "model.tflite"), "rb") as file:
                content = file.read()
            for seed in range(SEEDS):
                rng = np.random.default_rng(seed)
                inputs = [self.draw(rng, detail) for detail in Interpreter(model_content=content).get_input_details()]
                names, theirs = litert(content, inputs)
                ours = deputy(content, names, inputs)
                exact = with_float_weights(content)
                for index, (a, b) in enumerate(zip(ours, theirs)):
                    with self.subTest(model=name, seed=seed, output=index):
                        self.assertIsNone(difference(a, b, 1e-5 if exact is None else ROUNDED_ACTIVATIONS))
                for index, (a, b) in enumerate(zip(ours, litert(exact, inputs)[1] if exact is not None else [])):
                    with self.subTest(model=name + " with weights of floats", seed=seed, output=index):
                        self.assertIsNone(difference(a, b, 1e-5))

    @staticmethod
    def draw(rng, detail):
        shape = [abs(int(extent)) for extent in detail["shape"]]
        if np.issubdtype(detail["dtype"], np.integer):
            limits = np.iinfo(detail["dtype"])
            return rng.integers(limits.min, limits.max, shape, detail["dtype"], endpoint=True)
        return rng.standard_normal(shape, np.float32)


class Operators(unittest.TestCase):
    def test_agree_with_litert(self):
        self.assertGreater(len(CASES), 200)
        for name, make in CASES.items():
            if ARGS.only and ARGS.only not in name:
                continue
            made, outputs = make()
            content = made.writer.finish(outputs)
            try:
                names, theirs = litert(content, made.inputs)
            except (RuntimeError, ValueError) as error:
                with self.subTest(case=name, seed=SEED):
                    self.fail(f"LiteRT refuses it: {error}")
                continue
            with self.subTest(case=name, seed=SEED):
                ours = deputy(content, names, made.inputs)
                self.assertEqual(len(ours), len(theirs))
                for a, b in zip(ours, theirs):
                    self.assertIsNone(difference(a, b, 2e-5 if "GELU" in name else 1e-5))


def tensor_proto(array):
    """As ONNX writes a tensor."""
    def number(value):
        encoded = b""
        while value > 127:
            encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
        return encoded + bytes([value])

    array = np.asarray(array, order="C")
    kind = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9}[str(array.dtype)]
    content = array.tobytes()
    return (b"".join(b"\x08" + number(extent) for extent in array.shape) + b"\x10" + number(kind) +
            b"\x4a" + number(len(content)) + content)


class States(unittest.TestCase):
    """Successive runs of one session beside successive runs of one interpreter; and again in three sessions at once, and
    by way of .dpm."""

    def test_agree_with_litert(self):
        self.assertGreater(len(STATES), 25)
        for name, make in STATES.items():
            if ARGS.only and ARGS.only not in name:
                continue
            with self.subTest(case=name, seed=SEED):
                made, outputs, runs = make()
                content = made.writer.finish(outputs)
                exact = with_float_weights(content)
                theirs = self.run_litert(content, runs)
                if any(array.dtype in (np.int8, np.int16) for array in theirs[0]):
                    # A layer whose results come back to it is computed in LiteRT's own integers.
                    steps = "0" if "SEQUENCE_LSTM int8" in name else "1"
                    self.compare(content, runs, theirs, ["--atol", steps])
                elif exact is None:
                    self.compare(content, runs, theirs, ["--atol-scale", "1e-5"])
                else:
                    self.compare(content, runs, theirs, ["--atol-scale", str(ROUNDED_ACTIVATIONS)])
                    self.compare(content, runs, self.run_litert(exact, runs), ["--atol-scale", "1e-5"])

    def test_inspect_lists_them_apart_from_inputs_and_outputs(self):
        made, outputs, _ = STATES["a counter"]()
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "model.tflite")
            with open(path, "wb") as file:
                file.write(made.writer.finish(outputs))
            done = subprocess.run([ARGS.deputy, "inspect", path, "--json"], stdout=subprocess.PIPE, timeout=300)
        report = json.loads(done.stdout)
        self.assertEqual([len(report[key]) for key in ("inputs", "outputs", "states")], [1, 2, 1])
        self.assertEqual(report["states"][0]["name"], "variable count")

    @staticmethod
    def run_litert(content, runs):
        interpreter = Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
        results = []
        for inputs in runs:
            for detail, array in zip(interpreter.get_input_details(), inputs):
                interpreter.set_tensor(detail["index"], array)
            interpreter.invoke()
            results.append([interpreter.get_tensor(detail["index"]).copy()
                            for detail in interpreter.get_output_details()])
        return results

    def compare(self, content, runs, theirs, tolerance):
        with tempfile.TemporaryDirectory() as scratch:
            with open(os.path.join(scratch, "model.tflite"), "wb") as file:
                file.write(content)
            for index, arrays in enumerate(zip(runs, theirs)):
                folder = os.path.join(scratch, f"test_data_set_{index}")
                os.mkdir(folder)
                for kind, list_of_arrays in zip(("input", "output"), arrays):
                    for place, array in enumerate(list_of_arrays):
                        with open(os.path.join(folder, f"{kind}_{place}.pb"), "wb") as file:
                            file.write(tensor_proto(array))
            for how in ([], ["--via-dpm"], ["--sessions", "3"]):
                command = [ARGS.deputy, "test-case", scratch, "--rtol", "0"] + tolerance + how
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
                self.assertIn("1 passed, 0 failed, 0 skipped", done.stdout, f"{how}: {done.stdout}{done.stderr}")


class Networks(unittest.TestCase):
    def test_agree_with_litert(self):
        for seed in range(ARGS.networks):
            with self.subTest(seed=seed):
                network = Network(seed)
                content = network.finish()
                names, theirs = litert(content, network.it.inputs)
                for a, b in zip(deputy(content, names, network.it.inputs), theirs, strict=True):
                    self.assertIsNone(difference(a, b, 1e-5))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--only", default="", help="operators whose names hold this")
    parser.add_argument("--networks", type=int, default=40, help="random ones")
    ARGS, rest = parser.parse_known_args()
    if not os.path.isdir(os.path.join(ARGS.data, "models")):
        print(f"skipped: no models at {ARGS.data}; set DEPUTY_TEST_DATA to a folder with models/")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + rest)
