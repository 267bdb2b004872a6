#!/usr/bin/env python3
"""Well-known architectures with generated weights against their outputs, for the input arange(n) / n. Exits 77, with the
reason, where the data is not there."""

import argparse
import glob
import os
import struct
import subprocess
import sys
import tempfile
import unittest

ARGS = None
SHAPE = (1, 3, 224, 224)
CONFIGS = {"cpu": None, "onednn": "version: 1\ndelegates:\n  - {name: onednn, min_nodes: 1}\n"}


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def tensor_proto(shape):
    """arange(n) / n in float32, as the file of a data set: a TensorProto with dims, data_type and raw_data."""
    count = 1
    for extent in shape:
        count *= extent
    raw = struct.pack(f"<{count}f", *(i / count for i in range(count)))
    dims = b"".join(b"\x08" + varint(extent) for extent in shape)
    return dims + b"\x10\x01" + b"\x4a" + varint(len(raw)) + raw


class LightModels(unittest.TestCase):
    def setUp(self):
        self.models = sorted(glob.glob(os.path.join(ARGS.data, "light", "*.onnx")))
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        data = tensor_proto(SHAPE)
        for model in self.models:
            case = os.path.join(self.folder, os.path.basename(model)[: -len(".onnx")])
            os.makedirs(os.path.join(case, "test_data_set_0"))
            os.symlink(model, os.path.join(case, "model.onnx"))
            with open(os.path.join(case, "test_data_set_0", "input_0.pb"), "wb") as file:
                file.write(data)
            os.symlink(model[: -len(".onnx")] + "_output_0.pb", os.path.join(case, "test_data_set_0", "output_0.pb"))

    def test_outputs_agree(self):
        self.assertEqual(len(self.models), 6)
        cases = sorted(glob.glob(os.path.join(self.folder, "light_*")))
        for name, text in CONFIGS.items():
            with self.subTest(delegate=name):
                arguments = [ARGS.deputy, "test-case", *cases]
                if text is not None:
                    config = os.path.join(self.folder, "test.yaml")
                    with open(config, "w", encoding="utf-8") as file:
                        file.write(text)
                    arguments += ["--config", config]
                done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=500)
                self.assertEqual(done.stdout.splitlines()[-1], "6 passed, 0 failed, 0 skipped",
                                 done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--data", required=True)
    ARGS, rest = parser.parse_known_args()
    if not os.path.isdir(os.path.join(ARGS.data, "light")):
        print(f"skipped: no models at {ARGS.data}/light; set DEPUTY_TEST_DATA to a folder with light/*.onnx")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]] + rest)
