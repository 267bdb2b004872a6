"""Models for the tests of the Python package."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import deputy
from deputy.digits import read_picture, sample_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
import onnx_bytes  # noqa: E402

# By ctest's environment; by hand too.
os.environ.setdefault("DEPUTY_CONFIG", "cpu-only")
os.environ.setdefault("DEPUTY_SYSTEM_CONFIG", "")

FLOAT, INT64 = 1, 7


def unary(op_type, shape=("n", 3), dtype=FLOAT, **attributes):
    """y = op(x)."""
    nodes = [onnx_bytes.node(op_type, ["x"], ["y"], op_type.lower(), **attributes)]
    return onnx_bytes.model(nodes, [onnx_bytes.value_info("x", shape, dtype)],
                            [onnx_bytes.value_info("y", shape, dtype)], opset=21)  # fmt: skip


@pytest.fixture(scope="session")
def digits_folder():
    return sample_folder()


@pytest.fixture(scope="session")
def digits(digits_folder):
    return deputy.Model(digits_folder / "digits.onnx", config="cpu-only")


@pytest.fixture(scope="session")
def pictures(digits_folder):
    files = sorted((digits_folder / "images").glob("*.pgm"))
    return np.stack([read_picture(file) for file in files])


@pytest.fixture(scope="session")
def relu():
    return deputy.Model(unary("Relu"), config="cpu-only")


@pytest.fixture(scope="session")
def add():
    return deputy.Model(onnx_bytes.add_model((2, 3)), config="cpu-only")


def make_long_model():
    """A loop that takes minutes unless it is ended."""
    body_nodes = [
        onnx_bytes.node("Identity", ["go"], ["go_on"], "condition"),
        onnx_bytes.node("Sin", ["v"], ["w"], "sin"),
    ]
    body = onnx_bytes.graph(
        body_nodes,
        [onnx_bytes.value_info("i", [], INT64), onnx_bytes.value_info("go", [], 9), onnx_bytes.value_info("v", [4096])],
        [onnx_bytes.value_info("go_on", [], 9), onnx_bytes.value_info("w", [4096])],
    )
    loop = _with_graph(onnx_bytes.node("Loop", ["count", "", "x"], ["y"], "loop"), "body", body)
    text = onnx_bytes.model([loop], [onnx_bytes.value_info("count", [], INT64), onnx_bytes.value_info("x", [4096])],
                            [onnx_bytes.value_info("y", [4096])])  # fmt: skip
    return deputy.Model(text, config="cpu-only")


def _with_graph(node, name, graph):
    attribute = onnx_bytes.chunk(1, name) + onnx_bytes.chunk(6, graph) + onnx_bytes.number(20, 5)
    return node + onnx_bytes.chunk(5, attribute)


def make_long_inputs():
    return {"count": np.array(10**9, np.int64), "x": np.ones(4096, np.float32)}


@pytest.fixture(scope="session")
def long_model():
    return make_long_model()


@pytest.fixture(scope="session")
def long_inputs():
    return make_long_inputs()
