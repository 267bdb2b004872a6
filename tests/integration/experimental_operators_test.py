#!/usr/bin/env python3
"""Experimental operators of ONNX, which opset 10 removed and ONNX Runtime still runs, must give what it gives. Exits 77
where ONNX Runtime is not installed.

  experimental_operators_test.py --deputy DEPUTY [--seed N] [unittest's arguments]
"""

import argparse
import os
import sys
import tempfile
import unittest

from peer_cases import Case, failures, refusal  # isort: skip, it exits with 77 where packages are missing

import numpy as np
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

import onnx.defs

OPTIONS = None
# What ONNX Runtime's package registers in ONNX's domain without having a kernel for the CPU.
WITHOUT_KERNEL = {"DisentangledAttention_TRT", "EfficientNMS_TRT", "GRUUnit", "GivenTensorFill",
                  "MultilevelCropAndResize_TRT", "PyramidROIAlign_TRT"}  # fmt: skip


def cases(random):
    def reals(*dims):
        return (random.integers(-64, 65, dims) / 16).astype("float32")

    def case(op_type, *inputs, opset=9, **attributes):
        return Case.of(op_type, list(inputs), domain="", opset=opset, **attributes)

    x = reals(2, 3, 4, 5)
    for opset in (1, 7, 9):
        yield case("Affine", x, opset=opset)
        yield case("Affine", x, opset=opset, alpha=1.5, beta=-0.25)
        yield case("Scale", x, opset=opset, scale=0.375)
        yield case("ScaledTanh", x, opset=opset, alpha=1.5, beta=0.5)
        yield case("ParametricSoftplus", x, opset=opset, alpha=0.75, beta=-1.5)
        yield case("ThresholdedRelu", x, opset=opset, alpha=0.5)
        yield case("Crop", x, opset=opset, border=[1, 0, 2, 1])
        yield case("ImageScaler", x, opset=opset, scale=0.5, bias=[1.0, -2.0, 0.5])
    for across in (0, 1):
        for normalizes in (0, 1):
            yield case("MeanVarianceNormalization", x, opset=7, across_channels=across, normalize_variance=normalizes)
    yield case("MeanVarianceNormalization", x, opset=1)
    for dtype in ("int32", "int64"):
        yield case("DynamicSlice", x, np.array([0, 1], dtype), np.array([9, -1], dtype), np.array([1, -1], dtype))
        yield case("DynamicSlice", reals(4, 5), np.array([1, 2], dtype), np.array([3, 100], dtype))
    yield case("MemcpyToHost", x, opset=13)
    yield case("MemcpyFromHost", x, opset=13)
    for op_type in ("LayerNormalization", "SimplifiedLayerNormalization"):
        yield case(op_type, x, reals(5), opset=16, axis=-1, epsilon=1e-5)


class Experimental(unittest.TestCase):
    def test_AgreeWithOnnxRuntime(self):
        with tempfile.TemporaryDirectory(prefix="deputy-experimental-") as scratch:
            folders = []
            for made in cases(np.random.default_rng(OPTIONS.seed)):
                folders.append(os.path.join(scratch, f"{len(folders)}_{made.name}"))
                made.write(folders[-1])
            self.assertEqual(failures(OPTIONS.deputy, folders, "--rtol", "1e-5", "--atol-scale", "1e-6"), "")

    def test_NoOperatorOfOnnxRuntimeIsLeftOut(self):
        known = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
        own = {schema.name for schema in get_all_operator_schema() if schema.domain == ""} - known
        tried = {made.name for made in cases(np.random.default_rng(0))}
        self.assertEqual(own - tried, WITHOUT_KERNEL, onnxruntime.__version__)

    def test_OthersAreRefusedByName(self):
        with tempfile.TemporaryDirectory(prefix="deputy-experimental-") as scratch:
            x = np.ones((2, 2), "float32")
            for op_type in ("GRUUnit", "GivenTensorFill", "ATen"):
                self.assertIn(op_type, refusal(OPTIONS.deputy, Case.of(op_type, [x], domain="", opset=7), scratch))
            for op_type in ("ScaledTanh", "ParametricSoftplus"):
                made = Case.of(op_type, [x], domain="", opset=7, alpha=1.0)
                self.assertIn("attribute 'beta' is missing", refusal(OPTIONS.deputy, made, scratch))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
