#!/usr/bin/env python3
"""Custom operators of TensorFlow Lite: nodes of a domain of their own, for a delegate that knows them; without one they are
refused by name. Exits 77 where the schema of ai-edge-litert is missing.

  tflite_custom_test.py --deputy DEPUTY --fixtures DIR [unittest's arguments]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    from tflite_models import Writer, schema
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ARGS = None
OPTIONS = b"FIXTURE\0OPTIONS" + bytes(range(256))


def custom(writer, name, inputs, outputs, options=b"", version=1):
    writer.add("CUSTOM", inputs, outputs, version)
    writer.model.operatorCodes[-1].customCode = name
    writer.graph.operators[-1].customOptions = list(options)


class Custom(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        (self.scratch / "plugins").mkdir()
        shutil.copy(Path(ARGS.fixtures) / "takes_custom.so", self.scratch / "plugins")
        self.config = self.scratch / "c.yaml"
        self.config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}/plugins]}}\ncache: {{dir: 'off'}}\n"
                               "delegates:\n  - name: takes_custom\n")  # fmt: skip
        self.x = np.array([[1.5, -2, 3], [-4, 5.25, -6]], "float32")
        np.save(self.scratch / "x.npy", self.x)

    def deputy(self, *arguments, status=0):
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def model(self, name="edgetpu-custom-op", options=OPTIONS, signature=None, **more):
        """Tanh of the custom operator's result, which is not known where the file has no extents."""
        writer = Writer()
        x = writer.input("float32", (2, 3))
        made = writer.tensor("float32", (2, 3) if signature is None else (), name="made")
        custom(writer, name, [x, -1], [made], options, **more)
        outputs = [made]
        if signature is None:
            outputs = [writer.tensor("float32", (2, 3), name="y")]
            writer.add("TANH", [made], outputs)
        path = self.scratch / "model.tflite"
        path.write_bytes(writer.finish(outputs))
        return path

    def result(self, model, name):
        out = self.scratch / "out"
        self.deputy("run", model, "--config", self.config, "--input", f"t0={self.scratch}/x.npy", "--output-dir", out)
        return np.load(out / f"{name}.npy")

    def test_ADelegateThatKnowsItTakesIt(self):
        model = self.model()
        np.testing.assert_allclose(self.result(model, "y"), np.tanh(np.maximum(self.x, 0)), rtol=1e-6)
        placed = json.loads(self.deputy("partition", model, "--config", self.config, "--json").stdout)
        (part,) = [part for part in placed["partitions"] if part["delegate"] == "takes_custom"]
        self.assertIn("edgetpu-custom-op", json.dumps(part))

    def test_ItsExtentsMayBeKnownOnlyWhenItRuns(self):
        said = self.deputy("inspect", self.model(signature=())).stdout
        self.assertIn("tflite.custom", said)
        self.assertIn("made", said)

    def reads_it(self, op_type, *constants, dtype="float32", **options):
        """A built-in operator that reads the result of a custom one, for which the file has no shape."""
        writer = Writer()
        made = writer.tensor("float32", (), name="made")
        custom(writer, "edgetpu-custom-op", [writer.input("float32", (2, 3)), -1], [made], OPTIONS)
        y = writer.tensor(dtype, (), name="y")
        writer.add(op_type, [made, *(writer.constant(constant) for constant in constants)], [y], **options)
        path = self.scratch / "model.tflite"
        path.write_bytes(writer.finish([y]))
        return path

    def test_ElementwiseOperatorsReadAResultWithoutAShape(self):
        row = np.array([10, 20, 30], "float32")
        for op_type, constants, dtype in (("ADD", [row], "float32"), ("MUL", [row], "float32"), ("ABS", [], "float32"),
                                          ("CAST", [], "int32"), ("RESHAPE", [np.array([6], "int32")], "float32"),
                                          ("SHAPE", [], "int32")):  # fmt: skip
            with self.subTest(op_type=op_type):
                model = self.reads_it(op_type, *constants, dtype=dtype)
                said = self.deputy("inspect", model).stdout
                self.assertIn("tflite.custom", said)
                self.assertIn(op_type.capitalize(), said)
                said = self.deputy("run", model, "--config", self.config, status=3).stderr
                self.assertIn("takes_custom: shape dynamic", said)

    def test_AnOperatorThatRequiresItsRankSaysSo(self):
        said = self.deputy("inspect", self.reads_it("TRANSPOSE", np.array([1, 0], "int32")), status=3).stderr
        self.assertIn("'made'", said)
        self.assertIn("has no shape in the file", said)

    def test_WithoutSuchADelegateItIsRefusedByName(self):
        for name in ("edgetpu-custom-op", "TFLite_Detection_PostProcess", "FlexErf", "ethos-u"):
            said = self.deputy("run", self.model(name), status=3).stderr
            self.assertIn(f"tflite.custom.{name}", said)

    def test_ADelegateSeesTheOptions(self):
        said = self.deputy("run", self.model(options=b"of another vendor"), "--config", self.config, status=3).stderr
        self.assertIn("tflite.custom.edgetpu-custom-op", said)

    def test_TheFormatOfDeputyKeepsIt(self):
        converted = self.scratch / "model.dpm"
        self.deputy("convert", self.model(), "--config", self.config, "-o", converted)
        np.testing.assert_allclose(self.result(converted, "y"), np.tanh(np.maximum(self.x, 0)), rtol=1e-6)

    def test_FourOutputsWithoutExtents(self):
        """As detectors have them behind their heads."""
        writer = Writer()
        boxes, scores = writer.input("float32", (1, 8, 4)), writer.input("float32", (1, 8, 3))
        anchors = writer.constant(np.zeros((8, 4), "float32"))
        made = [writer.tensor("float32", (), name=f"detection_{i}") for i in range(4)]
        custom(writer, "TFLite_Detection_PostProcess", [boxes, scores, anchors], made, b"options")
        path = self.scratch / "detector.tflite"
        path.write_bytes(writer.finish(made))
        self.assertIn("TFLite_Detection_PostProcess", self.deputy("inspect", path).stdout)
        self.assertIn("tflite.custom.TFLite_Detection_PostProcess", self.deputy("run", path, status=3).stderr)

    def test_R192_options_outside_of_the_file(self):
        writer = Writer()
        x = writer.input("float32", (2, 3))
        made = writer.tensor("float32", (2, 3))
        custom(writer, "edgetpu-custom-op", [x], [made])
        writer.graph.operators[-1].largeCustomOptionsOffset = 1 << 20
        writer.graph.operators[-1].largeCustomOptionsSize = 16
        path = self.scratch / "model.tflite"
        path.write_bytes(writer.finish([made]))
        said = self.deputy("run", path, "--config", self.config, status=3).stderr
        self.assertIn("operator 0 (custom operator 'edgetpu-custom-op' version 1)", said)
        self.assertIn("custom_options with 16 bytes at offset 1048576 exceeds the file size", said)

    def test_R192_a_name_that_is_missing_and_versions_that_do_not_exist(self):
        self.assertIn("is a custom operator without a name", self.deputy("run", self.model(""), status=3).stderr)
        self.assertIn("has version 0, expected 1 or more", self.deputy("run", self.model(version=0), status=3).stderr)


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
